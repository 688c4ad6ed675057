#include "tokenizer/encode/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace modelutils::tokenizer {

namespace {

struct PointRange {
  char32_t first, last;
};

template <std::size_t size>
bool is_in(const std::array<PointRange, size>& ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const PointRange& range) { return range.first <= point && point <= range.last; });
}

constexpr char32_t end_of_points = 0x110000, replacement_point = 0xfffd;

// Collects the bits of `count` bytes 10xxxxxx after the first one. Returns false if there are fewer.
bool continuation(std::string_view text, std::size_t at, std::size_t count, char32_t& point) {
  for (std::size_t i = 1; i <= count; ++i) {
    if (at + i >= text.size()) return false;
    const auto byte = static_cast<u8>(text[at + i]);
    if ((byte & 0xc0) != 0x80) return false;
    point = point << 6 | (byte & 0x3f);
  }
  return point < end_of_points;
}

}  // namespace

CharacterClass character_class(char32_t point) {
  // New in Unicode 15.1: five ideographic description characters, and CJK extension I.
  constexpr std::array<PointRange, 2> newer_symbols = {PointRange{0x2ffc, 0x2fff}, PointRange{0x31ef, 0x31ef}};
  constexpr PointRange newer_letters = {0x2ebf0, 0x2ee5d};
  using enum CharacterClass;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return letter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return mark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return number;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return punctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO: return symbol;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return separator;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO: return control;
    default: break;
  }
  if (newer_letters.first <= point && point <= newer_letters.last) return letter;
  return is_in(newer_symbols, point) ? symbol : unassigned;
}

bool is_space(char32_t point) {
  constexpr std::array<PointRange, 10> spaces = {
      PointRange{0x09, 0x0d},     PointRange{0x20, 0x20},     PointRange{0x85, 0x85},     PointRange{0xa0, 0xa0},
      PointRange{0x1680, 0x1680}, PointRange{0x2000, 0x200a}, PointRange{0x2028, 0x2029}, PointRange{0x202f, 0x202f},
      PointRange{0x205f, 0x205f}, PointRange{0x3000, 0x3000}};
  return is_in(spaces, point);
}

bool is_han(char32_t point) {
  constexpr std::array<PointRange, 9> blocks = {
      PointRange{0x3400, 0x4dbf},   PointRange{0x4e00, 0x9fff},   PointRange{0xf900, 0xfaff},
      PointRange{0x20000, 0x2a6df}, PointRange{0x2a700, 0x2b73f}, PointRange{0x2b740, 0x2b81f},
      PointRange{0x2b820, 0x2ceaf}, PointRange{0x2ceb0, 0x2ebef}, PointRange{0x2f800, 0x2fa1f}};
  return is_in(blocks, point);
}

char32_t to_lower(char32_t point) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point)));
}

char32_t first_of_decomposed(char32_t point) {
  std::array<utf8proc_int32_t, 32> parts{};  // the longest decomposition has four
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point), parts.data(), parts.size(),
                                             UTF8PROC_DECOMPOSE, &boundary);
  return count > 0 ? static_cast<char32_t>(parts[0]) : point;
}

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<u8>(text[at]);
    const std::size_t size = promised_bytes(text[at]);
    char32_t point = size == 1 ? first : first & (0x7f >> size);
    const bool begins = first < 0x80 || (first >= 0xc0 && first < 0xf8);
    if (begins && continuation(text, at, size - 1, point)) {
      points.push_back(point);
      at += size;
    } else {
      points.push_back(replacement_point);
      ++at;
    }
  }
  return points;
}

void append_point(std::string& out, char32_t point) {
  const auto add = [&](char32_t byte) { out += static_cast<char>(byte); };
  const auto tail = [&](u32 shift) { add(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xc0 | point >> 6);
    return tail(0);
  }
  if (point < 0x10000) {
    add(0xe0 | point >> 12);
    tail(6);
    return tail(0);
  }
  add(0xf0 | point >> 18);
  tail(12);
  tail(6);
  tail(0);
}

std::size_t promised_bytes(char first) {
  const auto byte = static_cast<u8>(first);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

}  // namespace modelutils::tokenizer
