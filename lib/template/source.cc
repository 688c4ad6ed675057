#include "template/source.h"

#include <fmt/core.h>

#include <algorithm>

namespace modelutils::jinja {

std::string normalized(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  while (true) {
    const std::size_t end = std::min(source.find('\r'), source.size());
    text += source.substr(0, end);
    if (end == source.size()) break;
    source.remove_prefix(end + 1);
    if (!source.starts_with('\n')) text += '\n';
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string Position::text() const {
  return fmt::format("line {}, column {}", line, column);
}

Position position(std::string_view source, std::size_t at) {
  const std::string_view before = source.substr(0, std::min(at, source.size()));
  Position result;
  result.line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  result.column += static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<u8>(c) & 0xc0) != 0x80; }));
  return result;
}

std::size_t original_offset(std::string_view original, std::size_t at) {
  std::size_t place = 0;
  for (; at > 0 && place < original.size(); --at, ++place) {
    if (original.substr(place).starts_with("\r\n")) ++place;
  }
  return place;
}

}  // namespace modelutils::jinja
