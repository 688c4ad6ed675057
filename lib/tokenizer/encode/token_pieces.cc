#include "tokenizer/encode/token_pieces.h"

#include <fmt/core.h>

#include <array>

#include "tokenizer/byte_tokens.h"
#include "tokenizer/encode/characters.h"

namespace modelutils::tokenizer {

namespace {

std::string with_spaces(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_space = text.substr(at).starts_with(space_mark);
    out += is_space ? ' ' : text[at];
    at += is_space ? space_mark.size() : 1;
  }
  return out;
}

// Returns the byte of each character below U+0144 in byte_symbol()'s alphabet; -1 if there is none.
std::array<int, 0x144> bytes_of_symbols() {
  std::array<int, 0x144> bytes{};
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) {
    const std::vector<char32_t> symbol = code_points(byte_symbol(static_cast<u8>(byte)));
    bytes[symbol.front()] = byte;
  }
  return bytes;
}

// Decodes byte_symbol()'s alphabet; spells out other characters like llama.cpp.
std::string decoded(std::string_view text) {
  static const std::array<int, 0x144> bytes = bytes_of_symbols();
  std::string out;
  for (const char32_t point : code_points(text)) {
    if (point < bytes.size() && bytes[point] >= 0) {
      out += static_cast<char>(bytes[point]);
      continue;
    }
    std::string utf8;
    append_point(utf8, point);
    out += "[UNK_BYTE_0x";
    for (const char c : utf8) out += fmt::format("{:02x}", static_cast<u8>(c));
    out += text;
    out += "]";
  }
  return out;
}

bool is_any_of(char c, std::string_view of) {
  return of.find(c) != std::string_view::npos;
}

// The three passes of llama.cpp that remove spaces; each works on the result of the previous one.
std::string without_spaces_before_marks(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && text[i - 1] == ' ' && is_any_of(text[i], "?!.,")) out.pop_back();
    out += text[i];
  }
  return out;
}

std::string without_spaces_around_apostrophes(std::string text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i > 0 && c == '\'' && i + 1 < text.size() && text[i - 1] == ' ' && text[i + 1] == ' ') {
      out.pop_back();
      text[++i] = '\0';
    }
    out += c;
  }
  return out;
}

std::string without_spaces_before_endings(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && text[i - 1] == ' ' && text[i] == '\'' && i + 1 < text.size()) {
      const std::string_view ending = std::string_view(text).substr(i + 1);
      if (is_any_of(ending.front(), "sm") || ending.starts_with("re") || ending.starts_with("ve")) out.pop_back();
    }
    out += text[i];
  }
  return out;
}

int hex_value(char c) {
  return c >= 'a' ? c - 'a' + 10 : c - '0';
}

}  // namespace

std::string unescape_rwkv(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      if (text[i] != '\\') bytes += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'x') {
      if (i + 2 >= text.size()) break;  // truncated
      bytes += static_cast<char>((hex_value(text[i + 1]) << 4) + hex_value(text[i + 2]));
      i += 2;
    } else {
      bytes += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return bytes;
}

std::string token_piece(const EncodeVocabulary& vocabulary, u32 id) {
  const std::string& text = vocabulary.texts[id];
  if (vocabulary.kind == EncodeKind::rwkv) return unescape_rwkv(text);
  const bool is_plamo2 = vocabulary.kind == EncodeKind::plamo2;
  if (vocabulary.has(id, trait_unknown | trait_control | trait_user_defined)) return text;
  if (!is_plamo2 && vocabulary.has(id, trait_normal)) {
    return vocabulary.kind == EncodeKind::bpe && !vocabulary.escapes_spaces ? decoded(text) : with_spaces(text);
  }
  if (vocabulary.has(id, trait_byte)) {
    if (const auto byte = byte_token_value(text)) return std::string(1, static_cast<char>(*byte));
  }
  return is_plamo2 ? text : std::string();
}

std::string text_of_tokens(const EncodeVocabulary& vocabulary, std::span<const u32> ids) {
  std::string text;
  bool is_first = true;
  for (const u32 id : ids) {
    std::string piece = token_piece(vocabulary, id);
    if (is_first && vocabulary.add_space_prefix && piece.starts_with(' ')) piece.erase(0, 1);
    is_first = false;
    text += piece;
  }
  if (!vocabulary.tidies_spaces) return text;
  return without_spaces_before_endings(without_spaces_around_apostrophes(without_spaces_before_marks(text)));
}

}  // namespace modelutils::tokenizer
