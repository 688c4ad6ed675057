// Vocabularies with one token per line: RWKV's world vocabulary and PLaMo's tokenizer.jsonl.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/types.h"
#include "base/utf8.h"
#include "tokenizer/read/build.h"
#include "tokenizer/read/text_lines.h"
#include "tokenizer/score_spread.h"

namespace modelutils::tokenizer {

std::optional<std::string> python_literal(std::string_view text) {
  const bool is_bytes = text.starts_with('b');
  if (is_bytes) text.remove_prefix(1);
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') || text.back() != text.front()) return {};
  const char quote = text.front();
  text = text.substr(1, text.size() - 2);
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == quote) return {};
    if (c != '\\') {
      if (is_bytes && static_cast<u8>(c) >= 0x80) return {};
      out += c;
      continue;
    }
    if (text.empty()) return {};
    const char kind = text.front();
    text.remove_prefix(1);
    const std::size_t digits = kind == 'x' ? 2 : is_bytes ? 0 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (digits > 0) {
      u32 point = 0;
      if (text.size() < digits) return {};
      const auto [at, error] = std::from_chars(text.data(), text.data() + digits, point, 16);
      if (error != std::errc() || at != text.data() + digits) return {};
      text.remove_prefix(digits);
      if (is_bytes) {
        out += static_cast<char>(point);
      } else if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
        return {};
      } else {
        append_utf8(out, point);
      }
      continue;
    }
    switch (kind) {
      case '\\':
      case '\'':
      case '"': out += kind; break;
      case 't': out += '\t'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      default: return {};
    }
  }
  return out;
}

namespace {

tl::unexpected<Error> beyond_rows(u64 id, u64 rows) {
  return input_error("hf-tok-id-range", fmt::format("the id {} is not below {}, the rows of the embedding", id, rows));
}

// Escapes bytes so that llama.cpp can undo it: the file's tokens need not be UTF-8, but a GGUF's texts must be.
std::string escape_rwkv(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<u8>(c);
    if (c == '\t') {
      text += "\\t";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\r') {
      text += "\\r";
    } else if (c == '\\') {
      text += "\\\\";
    } else if (byte < 0x20 || byte >= 0x7F) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text;
}

// Reads "ID LITERAL LENGTH": a Python str or bytes literal, and its length in bytes.
Status read_rwkv_line(std::string_view line, TokenList& list, const Tokenizer& tokenizer) {
  constexpr const char* form = "must be an id, a Python literal and its length in bytes";
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return input_error("hf-tok-rwkv", form);
  const auto number = [](std::string_view digits, u64& value) {
    const char* end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc() && at == end;
  };
  u64 id = 0, length = 0;
  const auto bytes = python_literal(line.substr(first + 1, last - first - 1));
  if (!number(line.substr(0, first), id) || !number(line.substr(last + 1), length) || !bytes) {
    return input_error("hf-tok-rwkv", form);
  }
  if (bytes->size() != length) {
    return input_error("hf-tok-rwkv", fmt::format("the literal has {} bytes, the line says {}", bytes->size(), length));
  }
  if (id >= list.size()) return beyond_rows(id, list.size());
  if (id == 0 || !tokenizer.tokens[static_cast<std::size_t>(id)].empty()) {
    return input_error("hf-tok-rwkv", id == 0 ? "the id 0 is the end-of-text token and cannot be listed"
                                              : fmt::format("the id {} appears twice", id));
  }
  list.set(static_cast<u32>(id), escape_rwkv(*bytes), TokenType::normal, 0);
  return {};
}

TokenType plamo_type(std::string_view text, std::string_view type) {
  if (type == "UNKNOWN") return TokenType::unknown;
  if (type == "CONTROL") return TokenType::control;
  if (type == "BYTE") return TokenType::byte;
  if (type == "UNUSED") return TokenType::unused;
  return text.starts_with("<|plamo:") && text.ends_with("|>") ? TokenType::control : TokenType::normal;
}

// Reads [text, score, type, …]; the line number is the id.
Status read_plamo_line(std::string_view line, u64 id, TokenList& list) {
  const auto parsed = json::parse(line, "tokenizer.jsonl");
  if (!parsed) return tl::make_unexpected(parsed.error());
  json::Array row;
  std::string_view text, type;
  double score = 0;
  if (!(*parsed)->root.get(row) || row.size() < 3 || !row.at(0)->get(text) || !row.at(1)->get(score) ||
      !row.at(2)->get(type)) {
    return input_error("hf-tok-plamo", "must be an array of a text, a score and a type");
  }
  if (id >= list.size()) return beyond_rows(id, list.size());
  list.set(static_cast<u32>(id), text, plamo_type(text, type), static_cast<float>(score));
  return {};
}

}  // namespace

Status build_rwkv(const TokenizerInput& input, Tokenizer& tokenizer) {
  tokenizer.kind = TokenizerKind::rwkv;
  tokenizer.source = input.files.listed_name;
  TokenList list(tokenizer, input.rows());
  list.set(0, "<s>", TokenType::control, 0);
  MU_TRY(each_line(*input.files.listed_text,
                   [&](std::string_view line) { return read_rwkv_line(line, list, tokenizer); }));
  list.finish(tokenizer.findings);
  return {};
}

Status build_plamo(const TokenizerInput& input, Tokenizer& tokenizer) {
  tokenizer.kind = TokenizerKind::plamo2;
  tokenizer.source = input.files.listed_name;
  TokenList list(tokenizer, input.rows());
  u64 id = 0;
  MU_TRY(each_line(*input.files.listed_text, [&](std::string_view line) { return read_plamo_line(line, id++, list); }));
  list.overlay(input.added.tokens);
  list.finish(tokenizer.findings);
  warn_of_common_score(common_score(tokenizer.types, tokenizer.scores), tokenizer.source, tokenizer.findings);
  check_byte_tokens(tokenizer, tokenizer.findings);
  tokenizer.pre = "default";
  tokenizer.add_space_prefix = false;
  return {};
}

}  // namespace modelutils::tokenizer
