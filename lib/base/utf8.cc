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

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto first = static_cast<u8>(text[0]);
    if (first < 0x80) {
      text.remove_prefix(ascii_run(text));
    } else if (first >= 0xC2 && first < 0xE0 && text.size() >= 2 && (static_cast<u8>(text[1]) & 0xC0) == 0x80) {
      text.remove_prefix(2);  // byte-level vocabularies use a character of two bytes in place of a space
    } else {
      const CodePoint point = decode_utf8(text);
      if (!point.valid) return false;
      text.remove_prefix(point.size);
    }
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

namespace {

// Returns the longest prefix of `text` that fits into `columns`.
std::string_view beginning(std::string_view text, std::size_t columns) {
  std::size_t size = 0;
  std::size_t width = 0;
  while (size < text.size()) {
    const std::size_t step = decode_utf8(text.substr(size)).size;
    const std::size_t wider = width + display_width(text.substr(size, step));
    if (wider > columns) break;
    width = wider;
    size += step;
  }
  return text.substr(0, size);
}

// Returns the longest suffix of `text` that fits into `columns`. Steps backwards over UTF-8 continuation bytes.
std::string_view ending(std::string_view text, std::size_t columns) {
  std::size_t begin = text.size();
  std::size_t width = 0;
  while (begin > 0) {
    std::size_t next = begin - 1;
    while (next > 0 && (static_cast<unsigned char>(text[next]) & 0xC0U) == 0x80U) --next;
    width += display_width(text.substr(next, begin - next));
    if (width > columns) break;
    begin = next;
  }
  return text.substr(begin);
}

}  // namespace

std::string cut_text(std::string_view text, std::size_t columns) {
  if (text.size() <= columns || display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  return std::string(beginning(text, columns - 1)) + "…";
}

std::string cut_middle(std::string_view text, std::size_t columns) {
  if (text.size() <= columns || display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  const std::size_t end_columns = (columns - 1) / 2;
  return std::string(beginning(text, columns - 1 - end_columns)) + "…" + std::string(ending(text, end_columns));
}

void append_wrapped(std::string& out, std::string_view text, std::size_t column, std::size_t indent,
                    std::size_t width) {
  for (bool is_first = true; !text.empty(); is_first = false) {
    std::size_t size = text.find(' ');
    const std::string_view word = text.substr(0, size);
    const std::size_t columns = display_width(word);
    if (column > indent && column + 1 + columns > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (column > indent || !is_first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
    text = size == std::string_view::npos ? std::string_view{} : text.substr(size + 1);
  }
  out += '\n';
}

}  // namespace modelutils
