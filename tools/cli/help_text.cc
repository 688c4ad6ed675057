#include "cli/help_text.h"

#include <algorithm>

#include "base/terminal_text.h"
#include "base/utf8.h"

namespace modelutils::cli {

namespace {

constexpr std::size_t help_column = 28;

std::string left_side(const Flag& flag) {
  if (flag.is_positional()) return "  " + flag.names;
  std::string text = flag.names.starts_with("--") ? "      " : "  ";
  const std::size_t comma = flag.names.find(',');
  text += flag.names.substr(0, comma);
  if (comma != std::string::npos) text += ", " + flag.names.substr(comma + 1);
  if (!flag.value_name.empty()) text += " " + flag.value_name;
  return text;
}

}  // namespace

std::string help_of(const Flag& flag) {
  std::string text = flag.help;
  for (std::size_t i = 0; i < flag.choices.size(); ++i) text += (i == 0 ? ": " : ", ") + flag.choices[i];
  return text;
}

std::string usage_line(const Command& command) {
  std::string text = command.name() + " [options]";
  for (const Flag& flag : command.flags()) {
    if (flag.is_positional()) text += " " + flag.names;
  }
  for (const Flag& flag : command.flags()) {
    if (flag.in_usage) text += " " + flag.names.substr(0, flag.names.find(',')) + " " + flag.value_name;
  }
  return text;
}

std::vector<std::string_view> groups(const Command& command) {
  std::vector<std::string_view> names;
  for (const Flag& flag : command.flags()) {
    if (std::find(names.begin(), names.end(), flag.group) == names.end()) names.emplace_back(flag.group);
  }
  std::stable_partition(names.begin(), names.end(), [](std::string_view name) { return name != common_group; });
  return names;
}

std::string help_text(const Command& command, std::size_t width, bool color) {
  width = std::clamp<std::size_t>(width, 60, 110);
  const auto heading = [&](std::string_view text) {
    return (color ? "\n\033[1m" : "\n") + std::string(text) + (color ? ":\033[0m\n" : ":\n");
  };
  std::string out = command.name() + ":";
  append_wrapped(out, command.summary(), out.size(), 0, width);
  out += heading("Usage") + "  " + usage_line(command) + "\n";

  for (const std::string_view group : groups(command)) {
    out += heading(group);
    for (const Flag& flag : command.flags()) {
      if (flag.group != group) continue;
      std::string line = left_side(flag);
      std::size_t column = display_width(line);
      if (column + 2 > help_column) {
        line += '\n';
        column = 0;
      }
      line.append(help_column - column, ' ');
      append_wrapped(line, help_of(flag), help_column, help_column, width);
      out += line;
    }
  }
  if (!command.examples().empty()) {
    out += heading("Examples");
    for (const Example& example : command.examples()) {
      out += "  " + example.command + "\n      ";
      append_wrapped(out, example.explanation, 6, 6, width);
    }
  }
  for (const std::string& paragraph : command.descriptions()) {
    out += '\n';
    append_wrapped(out, paragraph, 0, 0, width);
  }
  out += heading("Exit status") + "  ";
  std::string statuses;
  for (const ExitStatus& status : exit_statuses) {
    if (!statuses.empty()) statuses += ", ";
    statuses.append(status.number).append(" ").append(status.meaning);
  }
  append_wrapped(out, statuses, 2, 2, width);
  return out;
}

}  // namespace modelutils::cli
