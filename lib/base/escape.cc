#include "base/escape.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/parse_number.h"
#include "base/utf8.h"

namespace modelutils {

bool is_invisible(char32_t c) {
  // Default_Ignorable_Code_Point of Unicode 15: the first and last code point of each range.
  static constexpr std::array<std::pair<char32_t, char32_t>, 17> runs = {{
      {0xAD, 0xAD},        // soft hyphen
      {0x34F, 0x34F},      // combining grapheme joiner
      {0x61C, 0x61C},      // Arabic letter mark
      {0x115F, 0x1160},    // Hangul fillers
      {0x17B4, 0x17B5},    // Khmer inherent vowels
      {0x180B, 0x180F},    // Mongolian variation selectors, vowel separator
      {0x200B, 0x200F},    // zero-width space and joiners, direction marks
      {0x202A, 0x202E},    // direction embeddings and overrides
      {0x2060, 0x206F},    // word joiner, invisible operators, isolates
      {0x3164, 0x3164},    // Hangul filler
      {0xFE00, 0xFE0F},    // variation selectors
      {0xFEFF, 0xFEFF},    // byte order mark
      {0xFFA0, 0xFFA0},    // halfwidth Hangul filler
      {0xFFF0, 0xFFF8},    // reserved for default-ignorable characters
      {0x1BCA0, 0x1BCA3},  // shorthand format controls
      {0x1D173, 0x1D17A},  // musical format controls
      {0xE0000, 0xE0FFF},  // tags, more variation selectors
  }};
  const auto run = std::upper_bound(runs.begin(), runs.end(), c,
                                    [](char32_t point, const auto& candidate) { return point < candidate.first; });
  return run != runs.begin() && c <= std::prev(run)->second;
}

bool is_unsafe(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return true;
  if (c < 0xAD) return false;
  return c == 0x2028 || c == 0x2029 || (c >= 0xFFF9 && c <= 0xFFFB) || is_invisible(c);
}

namespace {

// True if all eight bytes are printable ASCII other than `"` and `\`. Each subtraction sets the high bit of a matching
// byte. A borrow may set the high bit of another byte, but only if a lower byte matched; bytes above ASCII count as
// matches themselves. So no byte has its high bit set if and only if none matches.
bool plain_eight(const char* at) {
  constexpr u64 ones = 0x0101010101010101;
  constexpr u64 highs = 0x8080808080808080;
  u64 word;
  std::memcpy(&word, at, 8);
  const u64 hits = word | (word - ones * 0x20) | ((word ^ (ones * 0x7F)) - ones) | ((word ^ (ones * '\\')) - ones) |
                   ((word ^ (ones * '"')) - ones);
  return (hits & highs) == 0;
}

// Returns the length of the leading run of printable ASCII other than `"` and `\`, which needs no escape in any form.
std::size_t plain_run(std::string_view text) {
  std::size_t size = 0;
  while (size + 8 <= text.size() && plain_eight(text.data() + size)) size += 8;
  // Check the last eight bytes, which overlap bytes already checked: they usually complete the run.
  if (text.size() - size < 8 && text.size() >= 8 && plain_eight(text.data() + text.size() - 8)) return text.size();
  while (size < text.size()) {
    const u8 byte = static_cast<u8>(text[size]);
    if (byte < 0x20 || byte >= 0x7F || byte == '\\' || byte == '"') break;
    ++size;
  }
  return size;
}

void append_escaped_point(std::string& out, std::string_view text, const CodePoint& point) {
  if (!point.valid) {
    out += fmt::format("\\x{:02x}", static_cast<u8>(text[0]));
    return;
  }
  switch (point.value) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '\\': out += "\\\\"; return;
    default: break;
  }
  if (is_unsafe(point.value)) {
    out += fmt::format("\\u{{{:x}}}", static_cast<u32>(point.value));
  } else {
    out.append(text.substr(0, point.size));
  }
}

}  // namespace

bool needs_escape(std::string_view text) {
  while (!text.empty()) {
    if (const std::size_t run = plain_run(text); run > 0) {
      text.remove_prefix(run);
      continue;
    }
    const CodePoint point = decode_utf8(text);
    if (!point.valid || is_unsafe(point.value)) return true;
    text.remove_prefix(point.size);
  }
  return false;
}

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append_escaped(out, text);
  return out;
}

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    if (const std::size_t run = plain_run(text); run > 0) {
      out.append(text.substr(0, run));
      text.remove_prefix(run);
      continue;
    }
    const CodePoint point = decode_utf8(text);
    append_escaped_point(out, text, point);
    text.remove_prefix(point.size);
  }
}

std::string escape(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t width = 0;
  std::size_t cut_size = 0;  // size of `out` at which "…" still fits
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    std::string piece;
    append_escaped_point(piece, text, point);
    const std::size_t piece_width = display_width(piece);
    if (width + 1 <= columns) cut_size = out.size();
    if (width + piece_width > columns) {
      out.resize(cut_size);
      if (columns > 0) out += "…";
      return out;
    }
    out += piece;
    width += piece_width;
    text.remove_prefix(point.size);
  }
  return out;
}

void append_json_escape(std::string& out, char32_t value) {
  switch (value) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    default: break;
  }
  const u32 number = static_cast<u32>(value);
  if (number < 0x10000) {
    out += fmt::format("\\u{:04x}", number);
  } else {
    const u32 rest = number - 0x10000;
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  }
}

void append_json_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    if (const std::size_t run = plain_run(text); run > 0) {
      out.append(text.substr(0, run));
      text.remove_prefix(run);
      continue;
    }
    const CodePoint point = decode_utf8(text);
    if (point.valid && point.value != '"' && point.value != '\\' && !is_unsafe(point.value)) {
      out.append(text.substr(0, point.size));
    } else {
      append_json_escape(out, point.valid ? point.value : char32_t{0xFFFD});
    }
    text.remove_prefix(point.size);
  }
}

std::string base64(std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<u32>(static_cast<u8>(bytes[i + k])) : 0;
    };
    const u32 group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += digits[group >> 18];
    out += digits[(group >> 12) & 63];
    out += i + 1 < bytes.size() ? digits[(group >> 6) & 63] : '=';
    out += i + 2 < bytes.size() ? digits[group & 63] : '=';
  }
  return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const auto value = [](char c) -> u32 {
    if (c >= 'A' && c <= 'Z') return static_cast<u32>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<u32>(c - 'a') + 26;
    if (c >= '0' && c <= '9') return static_cast<u32>(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
  };
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    u32 group = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const bool is_padding = i + k >= text.size() - padding;
      const u32 digit = is_padding ? 0 : value(text[i + k]);
      if (digit > 63) return std::nullopt;
      group = group << 6 | digit;
    }
    out += static_cast<char>(group >> 16 & 255);
    out += static_cast<char>(group >> 8 & 255);
    out += static_cast<char>(group & 255);
  }
  out.resize(out.size() - padding);
  return out;
}

namespace {

// True if a spreadsheet would read a cell with this text as a formula. Includes the full-width forms of the signs.
bool begins_formula(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  constexpr std::string_view signs[] = {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  return std::ranges::any_of(signs, [&](std::string_view sign) { return text.starts_with(sign); });
}

// True for decimal numbers such as -1.5e-05. False for "-inf", which spreadsheets read as a name.
bool is_decimal_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !((text[0] >= '0' && text[0] <= '9') || text[0] == '.')) return false;
  double value = 0;
  const auto [end, error] = number_from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() && error != std::errc::invalid_argument;
}

// Prefixes an apostrophe, which marks a cell as text. Text that starts with an apostrophe gets another, so that
// removing one always restores it. Where the list separator is a semicolon, a new cell starts after each, so a
// semicolon before a formula is escaped.
std::string without_formulas(std::string_view text) {
  std::string out;
  if (text.starts_with('\'') || (begins_formula(text) && !is_decimal_number(text))) out += '\'';
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ';' && begins_formula(text.substr(i + 1))) {
      out += "\\u{3b}";
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::string csv_field(std::string_view text) {
  const std::string safe = without_formulas(escape(text));
  const bool quote =
      safe.find_first_of(",\"") != std::string::npos || (!safe.empty() && (safe.front() == ' ' || safe.back() == ' '));
  if (!quote) return safe;
  std::string out = "\"";
  for (char c : safe) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
  return out;
}

std::string hex(Bytes bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (std::byte b : bytes) {
    out += digits[static_cast<u8>(b) >> 4];
    out += digits[static_cast<u8>(b) & 15];
  }
  return out;
}

}  // namespace modelutils
