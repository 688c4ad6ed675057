#include "template/string_literal.h"

#include <fmt/core.h>

#include "base/types.h"
#include "base/utf8.h"

namespace modelutils::jinja {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class Unescape {
 public:
  Unescape(std::string_view text, std::string& error) : text_(text), error_(error) {}

  std::optional<std::string> run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '\\') {
        out_ += text_[at_++];
      } else if (!escape()) {
        return {};
      }
    }
    return std::move(out_);
  }

 private:
  // Decodes an escape. The lexer guarantees a character after the backslash.
  bool escape() {
    const char c = text_[at_ + 1];
    at_ += 2;
    switch (c) {
      case '\n': return true;
      case '\\':
      case '\'':
      case '"': out_ += c; return true;
      case 'a': out_ += '\a'; return true;
      case 'b': out_ += '\b'; return true;
      case 'f': out_ += '\f'; return true;
      case 'n': out_ += '\n'; return true;
      case 'r': out_ += '\r'; return true;
      case 't': out_ += '\t'; return true;
      case 'v': out_ += '\v'; return true;
      case 'x': return number(2, "truncated \\xXX escape");
      case 'u': return number(4, "truncated \\uXXXX escape");
      case 'U': return number(8, "truncated \\UXXXXXXXX escape");
      case 'N': error_ = "names of characters (\\N{…}) are not supported"; return false;
      default: break;
    }
    if (c >= '0' && c <= '7') return octal();
    if (static_cast<u8>(c) >= 0x80) return not_ascii();
    out_ += '\\';
    out_ += c;
    return true;
  }

  bool number(std::size_t size, const char* cut_off) {
    char32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const int digit = at_ < text_.size() ? hex_digit(text_[at_]) : -1;
      if (digit < 0) {
        error_ = cut_off;
        return false;
      }
      value = value * 16 + static_cast<char32_t>(digit);
      ++at_;
    }
    return append(value);
  }

  bool octal() {
    char32_t value = 0;
    --at_;
    for (int i = 0; i < 3 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++i) {
      value = value * 8 + static_cast<char32_t>(text_[at_++] - '0');
    }
    return append(value);
  }

  // Jinja encodes non-ASCII characters as escapes before decoding all escapes, so a backslash before one escapes the
  // backslash of that escape.
  bool not_ascii() {
    const CodePoint point = decode_utf8(text_.substr(at_ - 1));
    at_ += point.size - 1;
    const u32 value = static_cast<u32>(point.value);
    out_ += value <= 0xff     ? fmt::format("\\x{:02x}", value)
            : value <= 0xffff ? fmt::format("\\u{:04x}", value)
                              : fmt::format("\\U{:08x}", value);
    return true;
  }

  bool append(char32_t value) {
    if (value > 0x10ffff) {
      error_ = "illegal Unicode character";
      return false;
    }
    if (value >= 0xd800 && value <= 0xdfff) {
      error_ = "surrogates in strings are not supported: no text can be encoded with them";
      return false;
    }
    append_utf8(out_, value);
    return true;
  }

  std::string_view text_;
  std::string& error_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string> unescaped(std::string_view text, std::string& error) {
  return Unescape(text, error).run();
}

}  // namespace modelutils::jinja
