#include "tokenizer/read/python_literal.h"

#include <charconv>

#include "base/types.h"
#include "base/utf8.h"

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

}  // namespace modelutils::tokenizer
