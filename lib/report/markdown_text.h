// Escapes texts from files for GitHub's Markdown.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Escapes printable text (base/escape.h) so that it displays verbatim in a cell, a heading or a line: no HTML and no
/// links, including those that GitHub creates from addresses, names and numbers. `marks`: characters to escape with a
/// backslash.
std::string markdown_text(std::string_view printable, std::string_view marks = "\\|`*_[]#~");

}  // namespace modelutils
