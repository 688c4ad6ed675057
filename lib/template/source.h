// Normalises a template's source and converts offsets to line and column.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::jinja {

/// Replaces CR LF and CR by line feeds, and removes one line feed at the end.
std::string normalized(std::string_view source);

/// Line and column, both counted from 1. Columns count characters.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;

  /// "line 3, column 14"
  std::string text() const;
};

/// Returns the position of byte `at` in a normalized source.
Position position(std::string_view source, std::size_t at);

/// Converts byte `at` of normalized(`original`) to an offset in `original`.
std::size_t original_offset(std::string_view original, std::size_t at);

}  // namespace modelutils::jinja
