#include "tokenizer/read/listed.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/escape.h"
#include "base/name_index.h"
#include "base/types.h"
#include "base/utf8.h"
#include "tokenizer/read/build.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

// Joining is quadratic in a token's length; real tokens have at most some hundred bytes.
constexpr std::size_t max_token_bytes = 4096;
constexpr u64 max_total_square = u64{1} << 32;

using Ranks = std::unordered_map<std::string_view, u32>;

std::string symbols(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += byte_symbol(static_cast<u8>(c));
  return text;
}

// Returns the position at which `token` consists of two parts before the last join; nullopt if joining by the ranks
// below its own leaves more than two parts.
std::optional<std::size_t> last_seam(std::string_view token, u32 rank, const Ranks& ranks) {
  std::vector<std::size_t> starts;  // of the parts
  for (std::size_t i = 0; i <= token.size(); ++i) starts.push_back(i);
  while (starts.size() > 3) {
    std::size_t best = 0;
    u32 lowest = rank;
    for (std::size_t i = 0; i + 2 < starts.size(); ++i) {
      const auto joined = ranks.find(token.substr(starts[i], starts[i + 2] - starts[i]));
      if (joined == ranks.end() || joined->second >= lowest) continue;
      lowest = joined->second;
      best = i + 1;
    }
    if (best == 0) return std::nullopt;
    starts.erase(starts.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return starts[1];
}

}  // namespace

Status RankedTokens::add(u64 rank, std::string bytes) {
  if (rank >= rows_) {
    return input_error("hf-tok-id-range",
                       fmt::format("the rank {} is not below {}, the rows of the embedding", rank, rows_));
  }
  const auto bad = [](std::string message) { return input_error("hf-tok-tiktoken", std::move(message)); };
  if (bytes.empty() || bytes.size() > max_token_bytes) {
    return bad(fmt::format("has {} bytes, 1 to {} are supported", bytes.size(), max_token_bytes));
  }
  total_square_ += u64{bytes.size()} * bytes.size();
  if (total_square_ > max_total_square) return bad("the tokens are longer than those of any real vocabulary");
  if (rank >= bytes_.size()) bytes_.resize(static_cast<std::size_t>(rank) + 1);
  std::string& place = bytes_[static_cast<std::size_t>(rank)];
  if (!place.empty()) return bad(fmt::format("the rank {} appears twice", rank));
  place = std::move(bytes);
  return {};
}

Result<TiktokenVocabulary> RankedTokens::finish() const {
  Ranks ranks;
  ranks.reserve(bytes_.size());
  for (std::size_t rank = 0; rank < bytes_.size(); ++rank) {
    if (!bytes_[rank].empty()) ranks.emplace(bytes_[rank], static_cast<u32>(rank));
  }
  TiktokenVocabulary vocabulary;
  vocabulary.tokens.resize(bytes_.size());
  for (std::size_t rank = 0; rank < bytes_.size(); ++rank) {
    const std::string_view token = bytes_[rank];
    vocabulary.tokens[rank] = symbols(token);
    if (token.size() < 2) continue;
    const auto seam = last_seam(token, static_cast<u32>(rank), ranks);
    if (!seam || ranks.count(token.substr(0, *seam)) == 0 || ranks.count(token.substr(*seam)) == 0) {
      return input_error("hf-tok-tiktoken", "the token cannot be built from two tokens of lower rank",
                         fmt::format("rank {}", rank));
    }
    vocabulary.merges.push_back(symbols(token.substr(0, *seam)) + ' ' + symbols(token.substr(*seam)));
  }
  return vocabulary;
}

Result<TiktokenVocabulary> parse_tiktoken(std::string_view text, u64 rows) {
  RankedTokens tokens(rows);
  MU_TRY(each_line(text, [&](std::string_view line) -> Status {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view digits = line.substr(std::min(space + 1, line.size()));
    u64 rank = 0;
    const char* last = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), last, rank);
    auto token = decode_base64(line.substr(0, space));
    if (!token || error != std::errc() || at != last) {
      return input_error("hf-tok-tiktoken", "must be base64, a space and a rank");
    }
    return tokens.add(rank, std::move(*token));
  }));
  return tokens.finish();
}

namespace {

// The special tokens of versions without a list. Source: mistral-common.
constexpr std::array<std::string_view, 20> usual_special = {"<unk>",
                                                            "<s>",
                                                            "</s>",
                                                            "[INST]",
                                                            "[/INST]",
                                                            "[AVAILABLE_TOOLS]",
                                                            "[/AVAILABLE_TOOLS]",
                                                            "[TOOL_RESULTS]",
                                                            "[/TOOL_RESULTS]",
                                                            "[TOOL_CALLS]",
                                                            "[IMG]",
                                                            "<pad>",
                                                            "[IMG_BREAK]",
                                                            "[IMG_END]",
                                                            "[PREFIX]",
                                                            "[MIDDLE]",
                                                            "[SUFFIX]",
                                                            "[SYSTEM_PROMPT]",
                                                            "[/SYSTEM_PROMPT]",
                                                            "[TOOL_CONTENT]"};

tl::unexpected<Error> bad(std::string where, std::string message) {
  return input_error("hf-tok-tekken", std::move(message), std::move(where));
}

constexpr u64 max_special = u64{1} << 16;  // real files have 1000

struct Sizes {
  u64 all = 0, special = 0;
};

Result<Sizes> read_sizes(json::Element config, u64 rows) {
  const auto all = json::u64_member(config, "default_vocab_size");
  const auto special = json::u64_member(config, "default_num_special_tokens");
  if (!all || !special || *special > *all || *special > max_special) {
    return bad("config", fmt::format("must have a default_vocab_size and a default_num_special_tokens of at most that, "
                                     "and of at most {}",
                                     max_special));
  }
  if (*all > rows) {
    return input_error("hf-tok-id-range",
                       fmt::format("there are {} tokens, but the embedding has only {} rows", *all, rows), "config");
  }
  return Sizes{*all, *special};
}

Status name_special(std::vector<TekkenSpecial>& special, NameIndex& texts, u64 rank, std::string_view text,
                    bool is_control) {
  const std::string where = fmt::format("special_tokens: rank {}", rank);
  if (rank >= special.size()) return bad(where, fmt::format("there are {} special tokens", special.size()));
  TekkenSpecial& place = special[static_cast<std::size_t>(rank)];
  if (text.empty() || !place.text.empty() || !texts.insert(text).is_new) {
    return bad(where, text.empty() ? "has no text" : fmt::format("'{}' or its rank appears twice", text));
  }
  place = {std::string(text), is_control};
  return {};
}

Result<std::vector<TekkenSpecial>> read_special(json::Element root, u64 count) {
  std::vector<TekkenSpecial> special(static_cast<std::size_t>(count));
  NameIndex texts;
  const auto member = json::member(root, "special_tokens");
  json::Array list;
  if (!member || member->is_null()) {
    for (u64 rank = 0; rank < usual_special.size() && rank < count; ++rank) {
      special[static_cast<std::size_t>(rank)].text = usual_special[static_cast<std::size_t>(rank)];
    }
  } else if (!member->get(list)) {
    return bad("special_tokens", "must be an array");
  } else {
    for (const json::Element entry : list) {
      const auto rank = json::u64_member(entry, "rank");
      const auto text = json::string_member(entry, "token_str");
      if (!rank || !text) return bad("special_tokens", "must have a rank and a token_str each");
      MU_TRY(name_special(special, texts, *rank, *text, json::bool_member(entry, "is_control").value_or(true)));
    }
  }
  for (std::size_t rank = 0; rank < special.size(); ++rank) {
    if (special[rank].text.empty()) special[rank].text = fmt::format("<SPECIAL_{}>", rank);
  }
  return special;
}

Result<TiktokenVocabulary> read_ordinary(json::Element root, u64 count) {
  const auto list = json::array_member(root, "vocab");
  if (!list) return bad("vocab", "must be an array");
  const auto too_few = [&](u64 found) {
    return bad("vocab", fmt::format("has {} of the {} ranks that config asks for", found, count));
  };
  if (list->size() < count) return too_few(list->size());
  RankedTokens tokens(count);
  u64 index = 0, kept = 0;
  for (const json::Element entry : *list) {
    const std::string where = fmt::format("vocab[{}]", index++);
    const auto rank = json::u64_member(entry, "rank");
    const auto text = json::string_member(entry, "token_bytes");
    auto bytes = text ? decode_base64(*text) : std::nullopt;
    if (!rank || !bytes) return bad(where, "must have a rank and token_bytes in base64");
    if (*rank >= count) continue;  // the file has more tokens than the model uses
    Status added = tokens.add(*rank, std::move(*bytes));
    if (!added) {
      added.error().where = where;
      return tl::make_unexpected(std::move(added.error()));
    }
    ++kept;
  }
  if (kept != count) return too_few(kept);
  return tokens.finish();
}

}  // namespace

Result<TekkenVocabulary> parse_tekken(json::Element root, u64 rows) {
  const auto config = json::member(root, "config");
  const auto pattern = config ? json::string_member(*config, "pattern") : std::nullopt;
  if (!pattern) return bad("config", "must be an object with a pattern");
  MU_ASSIGN(const Sizes sizes, read_sizes(*config, rows));
  TekkenVocabulary vocabulary;
  vocabulary.pattern = *pattern;
  MU_ASSIGN(vocabulary.special, read_special(root, sizes.special));
  MU_ASSIGN(vocabulary.ordinary, read_ordinary(root, sizes.all - sizes.special));
  return vocabulary;
}

// Vocabularies with one token per line: RWKV's world vocabulary and PLaMo's tokenizer.jsonl.

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
