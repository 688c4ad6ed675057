#include "base/utf8.h"

#include <utf8proc.h>

#include <cstring>

namespace modelutils {

CodePoint decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<u8>(text[index]); };
  const u8 first = byte(0);
  if (first < 0x80) return {first, 1, true};
  std::size_t size = 0;
  char32_t value = 0;
  char32_t least = 0;
  if ((first & 0xE0) == 0xC0) {
    size = 2, value = first & 0x1F, least = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    size = 3, value = first & 0x0F, least = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    size = 4, value = first & 0x07, least = 0x10000;
  } else {
    return {};
  }
  if (text.size() < size) return {};
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3F);
  }
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, size, true};
}

bool is_utf8(std::string_view text) {
  const char* cursor = text.data();
  const char* const end = cursor + text.size();
  while (cursor != end) {
    while (end - cursor >= 8) {
      u64 word;
      std::memcpy(&word, cursor, 8);
      if ((word & 0x8080808080808080u) != 0) break;
      cursor += 8;
    }
    if (cursor == end) break;
    const auto first = static_cast<u8>(*cursor);
    if (first < 0x80) {
      ++cursor;
      continue;
    }
    // Fast path for two-byte characters, which byte-level vocabularies use in place of spaces.
    if (first >= 0xC2 && first < 0xE0 && end - cursor >= 2 && (static_cast<u8>(cursor[1]) & 0xC0) == 0x80) {
      cursor += 2;
      continue;
    }
    const CodePoint point = decode_utf8({cursor, static_cast<std::size_t>(end - cursor)});
    if (!point.valid) return false;
    cursor += point.size;
  }
  return true;
}

void append_utf8(std::string& out, char32_t value) {
  const auto put = [&](u32 byte) { out.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | (value >> 6));
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | (value >> 12));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | (value >> 18));
    put(0x80 | ((value >> 12) & 0x3F));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

namespace {

// True if all `sizeof(Word)` bytes at `at` are ASCII.
template <typename Word>
bool ascii_word(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof(word));
  return (word & static_cast<Word>(0x8080808080808080u)) == 0;
}

// Returns the length of the leading run of ASCII.
std::size_t ascii_run(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::size_t size = 0;
  while (size + 8 <= text.size() && ascii_word<u64>(text.data() + size)) size += 8;
  // Check the last bytes, which overlap bytes already checked: they usually complete the run.
  const std::size_t left = text.size() - size;
  if (left < 8 && text.size() >= 8 && ascii_word<u64>(end - 8)) return text.size();
  if (left >= 4 && left < 8 && ascii_word<u32>(text.data() + size) && ascii_word<u32>(end - 4)) return text.size();
  while (size < text.size() && static_cast<u8>(text[size]) < 0x80) ++size;
  return size;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    if (const std::size_t run = ascii_run(text); run > 0) {  // one column each
      width += run;
      text.remove_prefix(run);
      continue;
    }
    const CodePoint point = decode_utf8(text);
    text.remove_prefix(point.size);
    if (point.value >= 0xA0 && point.value < 0x300) {  // Latin and ×: one column each, no lookup
      ++width;
      continue;
    }
    width += point.valid ? static_cast<std::size_t>(utf8proc_charwidth(static_cast<utf8proc_int32_t>(point.value))) : 1;
  }
  return width;
}

}  // namespace modelutils
