// Texts of files in Markdown, as GitHub reads it.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Printable text (base/escape.h) so that it reads the same in a cell, a heading or a line: no HTML, and no links, also
/// none that GitHub makes by itself of addresses, names and numbers. `marks`: what gets a backslash.
std::string markdown_text(std::string_view printable, std::string_view marks = "\\|`*_[]#~");

}  // namespace modelutils
