// The text of a template as Jinja reads it, and places in it.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::jinja {

/// Line feeds for CR LF and CR, and without one line feed at the end.
std::string normalized(std::string_view source);

/// Both from 1; the column counts characters.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;

  /// "line 3, column 14"
  std::string text() const;
};

/// Of byte `at` of a normalized source.
Position position(std::string_view source, std::size_t at);

/// The byte of the text as it was that became byte `at` of normalized(`original`).
std::size_t original_offset(std::string_view original, std::size_t at);

}  // namespace modelutils::jinja
