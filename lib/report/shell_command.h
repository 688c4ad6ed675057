// Command lines that a person copies into a shell.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// An argument as a shell takes it, in quotes where it needs them; `otherwise` where it holds characters that must not
/// reach a terminal.
std::string shell_word(std::string_view argument, std::string_view otherwise);

/// The command on lines of less than `width` columns, as far as possible: broken before options ("-c 4096" stays
/// together) with a backslash. Lines begin with `indent` spaces, after the first with two more. `width` 0: one line.
std::string command_lines(std::string_view command, std::size_t indent, std::size_t width);

}  // namespace modelutils
