// Formats command lines for copying into a shell.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Returns the argument for a shell, quoted if necessary; `otherwise` if it contains characters that must not reach a
/// terminal.
std::string shell_word(std::string_view argument, std::string_view otherwise);

/// Returns the command on lines of less than `width` columns, as far as possible: broken with a backslash before
/// options ("-c 4096" stays together). Lines begin with `indent` spaces, continuation lines with two more. `width` 0:
/// one line.
std::string command_lines(std::string_view command, std::size_t indent, std::size_t width);

}  // namespace modelutils
