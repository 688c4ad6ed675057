#include "template/python_text.h"

#include <fmt/core.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"

namespace modelutils::jinja {

namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_letter_category(utf8proc_category_t of) {
  return of == UTF8PROC_CATEGORY_LU || of == UTF8PROC_CATEGORY_LL || of == UTF8PROC_CATEGORY_LT ||
         of == UTF8PROC_CATEGORY_LM || of == UTF8PROC_CATEGORY_LO;
}

bool is_ascii_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// str.isprintable() for one character.
bool is_printable(char32_t c) {
  if (c < 0x7f) return c >= 0x20;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
  }
}

}  // namespace

bool is_space(char32_t c) {
  if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_digit(char32_t c) {
  return c < 0x80 ? c >= '0' && c <= '9' : category(c) == UTF8PROC_CATEGORY_ND;
}

std::optional<int> decimal_value(char32_t c) {
  if (!is_digit(c)) return std::nullopt;
  if (c < 0x80) return static_cast<int>(c - '0');
  // Unicode has the ten digits of each script in sequence; sequences may be adjacent.
  char32_t first = c;
  while (is_digit(first - 1)) --first;
  return static_cast<int>((c - first) % 10);
}

bool is_other_number(char32_t c) {
  return c >= 0x80 && category(c) == UTF8PROC_CATEGORY_NO;
}

bool is_letter(char32_t c) {
  if (c < 0x80) return is_ascii_letter(c);
  return is_letter_category(category(c));
}

bool is_word(char32_t c) {
  if (c < 0x80) return c == '_' || is_ascii_letter(c) || is_digit(c);
  const auto of = category(c);
  return is_letter_category(of) || of == UTF8PROC_CATEGORY_ND || of == UTF8PROC_CATEGORY_NL ||
         of == UTF8PROC_CATEGORY_NO;
}

bool is_name_start(char32_t c) {
  if (c < 0x80) return c == '_' || is_ascii_letter(c);
  const auto of = category(c);
  return is_letter_category(of) || of == UTF8PROC_CATEGORY_NL;
}

bool is_name_part(char32_t c) {
  if (c < 0x80) return is_word(c);
  const auto of = category(c);
  return is_name_start(c) || of == UTF8PROC_CATEGORY_ND || of == UTF8PROC_CATEGORY_MN || of == UTF8PROC_CATEGORY_MC ||
         of == UTF8PROC_CATEGORY_PC;
}

std::string_view strip(std::string_view text, Side side) {
  return strip_if(text, side, [](std::string_view, char32_t c) { return is_space(c); });
}

std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (count > 0 && at < text.size()) {
    ++at;
    while (at < text.size() && (static_cast<u8>(text[at]) & 0xc0) == 0x80) ++at;
    --count;
  }
  return at;
}

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<u8>(c) & 0xc0) != 0x80; }));
}

void append_repr(std::string& out, std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  each_character(text, [&](char32_t c, std::size_t at, std::size_t size) {
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += text.substr(at, size);
    } else if (c <= 0xff) {
      out += fmt::format("\\x{:02x}", static_cast<u32>(c));
    } else if (c <= 0xffff) {
      out += fmt::format("\\u{:04x}", static_cast<u32>(c));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<u32>(c));
    }
    return true;
  });
  out += quote;
}

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // fmt yields the shortest digits; Python uses an exponent below 1e-4 and from 1e16 on.
  std::string text = fmt::format("{}", std::fabs(value));
  const std::string sign = std::signbit(value) ? "-" : "";
  int exponent = 0;  // exponent of the first digit
  if (const std::size_t mark = text.find('e'); mark != std::string::npos) {
    exponent = std::atoi(text.c_str() + mark + 1);
    text.resize(mark);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits = text.substr(0, point) + text.substr(std::min(point + 1, text.size()));
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  if (zeros == digits.size()) return sign + "0.0";
  digits.erase(0, zeros);
  exponent += static_cast<int>(point) - 1 - static_cast<int>(zeros);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  if (exponent < -4 || exponent >= 16) {
    const std::string rest = digits.size() > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}{}e{}{:02}", sign, digits[0], rest, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string escape_markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&#34;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

// Case conversion with Python's semantics (template/python_text.h).

namespace {

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_cased(char32_t c) {
  const auto of = category_of(c);
  return of == UTF8PROC_CATEGORY_LU || of == UTF8PROC_CATEGORY_LL || of == UTF8PROC_CATEGORY_LT;
}

// True for letters whose upper case is several letters (Unicode's SpecialCasing.txt) and which special_upper() lacks.
bool has_unknown_upper(char32_t c) {
  return c == 0x149 || c == 0x1f0 || c == 0x390 || c == 0x3b0 || c == 0x587 || (c >= 0x1e96 && c <= 0x1e9a) ||
         (c >= 0x1f50 && c <= 0x1f56) || (c >= 0x1f80 && c <= 0x1fff) || (c >= 0xfb13 && c <= 0xfb17);
}

// Returns the upper case of German sharp s and of the Latin ligatures, the only such letters common in texts.
std::string_view special_upper(char32_t c) {
  switch (c) {
    case 0xdf: return "SS";
    case 0xfb00: return "FF";
    case 0xfb01: return "FI";
    case 0xfb02: return "FL";
    case 0xfb03: return "FFI";
    case 0xfb04: return "FFL";
    case 0xfb05: return "ST";
    case 0xfb06: return "ST";
    default: return {};
  }
}

bool append_upper(std::string& out, char32_t c) {
  if (has_unknown_upper(c)) return false;
  if (const std::string_view special = special_upper(c); !special.empty()) {
    out += special;
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
  return true;
}

// Appends the title case of a word's first letter; for a ligature, the first letter upper and the rest lower.
bool append_title(std::string& out, char32_t c) {
  if (has_unknown_upper(c)) return false;
  if (const std::string_view special = special_upper(c); !special.empty()) {
    out += special[0];
    for (const char more : special.substr(1)) out += static_cast<char>(more - 'A' + 'a');
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
  return true;
}

// A sigma at the end of a word has another lower case.
bool is_final_sigma(std::string_view before, std::string_view after) {
  const auto is_skipped = [](char32_t c) {
    const auto of = category_of(c);
    return of == UTF8PROC_CATEGORY_MN || of == UTF8PROC_CATEGORY_ME || of == UTF8PROC_CATEGORY_CF ||
           of == UTF8PROC_CATEGORY_LM || of == UTF8PROC_CATEGORY_SK || c == '\'' || c == '.' || c == ':' || c == 0xb7 ||
           c == 0x2019;
  };
  while (!after.empty()) {
    const CodePoint point = decode_utf8(after);
    if (!is_skipped(point.value)) {
      if (is_cased(point.value)) return false;
      break;
    }
    after.remove_prefix(point.size);
  }
  while (!before.empty()) {
    std::size_t begin = before.size() - 1;
    while (begin > 0 && (static_cast<u8>(before[begin]) & 0xc0) == 0x80) --begin;
    const char32_t c = decode_utf8(before.substr(begin)).value;
    if (!is_skipped(c)) return is_cased(c);
    before = before.substr(0, begin);
  }
  return false;
}

void append_lower(std::string& out, std::string_view text, std::size_t at, char32_t c, std::size_t size) {
  if (c == 0x130) {
    out += "i\u0307";
  } else if (c == 0x3a3) {
    out += is_final_sigma(text.substr(0, at), text.substr(at + size)) ? "\u03c2" : "\u03c3";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

}  // namespace

std::optional<std::string> upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (!each_character(text, [&](char32_t c, std::size_t, std::size_t) { return append_upper(out, c); })) return {};
  return out;
}

std::optional<std::string> lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](char32_t c, std::size_t at, std::size_t size) {
    append_lower(out, text, at, c, size);
    return true;
  });
  return out;
}

std::optional<std::string> capitalize(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const bool known = each_character(text, [&](char32_t c, std::size_t at, std::size_t size) {
    if (at == 0) return append_title(out, c);
    append_lower(out, text, at, c, size);
    return true;
  });
  return known ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::string> title(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_word = false;
  const bool known = each_character(text, [&](char32_t c, std::size_t at, std::size_t size) {
    const bool begins = !in_word;
    in_word = is_cased(c);
    if (begins) return append_title(out, c);
    append_lower(out, text, at, c, size);
    return true;
  });
  return known ? std::optional(std::move(out)) : std::nullopt;
}

bool is_upper(std::string_view text) {
  bool any = false;
  return each_character(text,
                        [&](char32_t c, std::size_t, std::size_t) {
                          const auto of = category_of(c);
                          any = any || of == UTF8PROC_CATEGORY_LU;
                          return of != UTF8PROC_CATEGORY_LL && of != UTF8PROC_CATEGORY_LT;
                        }) &&
         any;
}

bool is_lower(std::string_view text) {
  bool any = false;
  return each_character(text,
                        [&](char32_t c, std::size_t, std::size_t) {
                          const auto of = category_of(c);
                          any = any || of == UTF8PROC_CATEGORY_LL;
                          return of != UTF8PROC_CATEGORY_LU && of != UTF8PROC_CATEGORY_LT;
                        }) &&
         any;
}

}  // namespace modelutils::jinja
