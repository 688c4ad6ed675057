#include "base/joined.h"

#include "base/numbers.h"

namespace modelutils {

namespace {

template <typename Part, typename Append>
std::string joined_by(std::span<const Part> parts, std::string_view separator, Append append) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    append(text, parts[i]);
  }
  return text;
}

void append_text(std::string& text, std::string_view part) {
  text += part;
}

}  // namespace

std::string joined(std::span<const std::string> parts, std::string_view separator) {
  return joined_by(parts, separator, append_text);
}

std::string joined(std::span<const std::string_view> parts, std::string_view separator) {
  return joined_by(parts, separator, append_text);
}

std::string joined(std::span<const u64> numbers, std::string_view separator) {
  return joined_by(numbers, separator, append_number);
}

}  // namespace modelutils
