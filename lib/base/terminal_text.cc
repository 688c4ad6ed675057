#include "base/terminal_text.h"

#include "base/utf8.h"

namespace modelutils {

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
