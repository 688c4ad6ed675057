#include "report/shell_command.h"

#include <algorithm>

#include "base/escape.h"
#include "base/utf8.h"

namespace modelutils {

std::string shell_word(std::string_view argument, std::string_view otherwise) {
  if (argument.empty() || needs_escape(argument)) return std::string(otherwise);
  const auto is_plain = [](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_letter || std::string_view("_./+,@:%=-").find(c) != std::string_view::npos;
  };
  if (std::ranges::all_of(argument, is_plain)) {
    // An argument that begins with a dash would be read as an option.
    return argument.front() == '-' ? "./" + std::string(argument) : std::string(argument);
  }
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command_lines(std::string_view command, std::size_t indent, std::size_t width) {
  std::string text, line(indent, ' ');
  bool is_first = true;
  while (!command.empty()) {
    const std::size_t end = std::min(command.find(" -", 1), command.size());
    const std::string_view option = command.substr(0, end);
    command.remove_prefix(std::min(end + 1, command.size()));
    const std::size_t behind = command.empty() ? 0 : 2;  // room for the backslash
    if (!is_first && width > 0 && display_width(line) + 1 + display_width(option) + behind > width) {
      text += line + " \\\n";
      line.assign(indent + 2, ' ');
    } else if (!is_first) {
      line += ' ';
    }
    line += option;
    is_first = false;
  }
  return text + line + "\n";
}

}  // namespace modelutils
