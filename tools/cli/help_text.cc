#include "cli/help_text.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "base/utf8.h"

namespace modelutils::cli {

namespace {

constexpr std::size_t narrowest = 40;
constexpr std::size_t widest = 110;
constexpr std::size_t most_examples = 5;  // of -h
constexpr std::size_t screen_lines = 23;  // of 24; one line is for the shell's prompt

// Returns the column of a flag's explanation. On a narrow terminal the explanation has a line of its own.
std::size_t help_column(std::size_t width) {
  return width < 60 ? 6 : 28;
}

// Returns the first word of a command line, including quoted spaces.
std::string_view first_shell_word(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote == 0 && text[i] == ' ') return text.substr(0, i);
    if (quote == 0 && (text[i] == '\'' || text[i] == '"')) {
      quote = text[i];
    } else if (text[i] == quote) {
      quote = 0;
    }
  }
  return text;
}

// Appends a command line that can be copied at any width: continued lines end in a backslash.
void append_command(std::string& out, std::string_view text, std::size_t width) {
  std::size_t column = 2;
  out += "  ";
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::string_view word = first_shell_word(text);
    const std::size_t columns = display_width(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t more = text.empty() ? 0 : 2;  // for " \"
    if (!is_first && column + 1 + columns + more > width) {
      out += " \\\n    ";
      column = 4;
    } else if (!is_first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
  }
}

void append_example(std::string& out, const Example& example, std::size_t width) {
  append_command(out, example.command, width);
  out += "\n      ";
  append_wrapped(out, example.explanation, 6, 6, width);
}

// Like append_example(), but on one line if it fits.
void append_short_example(std::string& out, const Example& example, std::size_t width) {
  const std::size_t columns = 2 + display_width(example.command) + 4 + display_width(example.explanation);
  if (columns > width) return append_example(out, example, width);
  out += "  " + example.command + "  # " + example.explanation + "\n";
}

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

namespace {

std::string group_name(std::string_view heading) {
  const std::size_t flag = heading.find("(--");
  std::string_view word = flag == std::string_view::npos ? heading : heading.substr(flag + 3);
  word = word.substr(0, word.find_first_of(" ,)"));
  std::string name(word);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

// Shortens a flag's help for -h: "Output file" for "Output file; - writes to standard output".
std::string first_clause(std::string_view help) {
  for (const std::string_view end : {"; ", ": ", ". ", " ("}) help = help.substr(0, help.find(end));
  return std::string(help);
}

class HelpText {
 public:
  HelpText(const Command& command, std::size_t width, bool color)
      : command_(command), width_(std::clamp(width, narrowest, widest)), color_(color) {}

  void add_title() {
    text_ = command_.name() + ":";
    append_wrapped(text_, command_.summary(), text_.size(), 0, width_);
  }
  void add_usage() {
    add_heading("Usage");
    add_wrapped(usage_line(command_), 2, 4);
  }
  void add_heading(std::string_view heading) {
    text_.append(color_ ? "\n\033[1m" : "\n").append(heading).append(color_ ? ":\033[0m\n" : ":\n");
  }
  void add_flag(const Flag& flag, const std::string& help) {
    std::string line = left_side(flag);
    std::size_t column = display_width(line);
    const std::size_t begin = help_column(width_);
    if (column + 2 > begin) {
      line += '\n';
      column = 0;
    }
    line.append(begin - column, ' ');
    append_wrapped(line, help, begin, begin, width_);
    text_ += line;
  }
  void add_group(std::string_view group) {
    add_heading(group);
    for (const Flag& flag : command_.flags()) {
      if (flag.group == group) add_flag(flag, help_of(flag));
    }
  }
  void add_wrapped(std::string_view text, std::size_t first, std::size_t indent) {
    text_.append(first, ' ');
    append_wrapped(text_, text, first, indent, width_);
  }
  void add_examples() {
    if (command_.examples().empty()) return;
    add_heading("Examples");
    for (const Example& example : command_.examples()) append_example(text_, example, width_);
  }
  void add_first_examples(std::size_t count) {
    add_heading("Examples");
    for (std::size_t i = 0; i < count; ++i) append_short_example(text_, command_.examples()[i], width_);
  }
  void add_exit_statuses() {
    add_heading("Exit status");
    std::string statuses;
    for (const ExitStatus& status : exit_statuses) {
      if (!statuses.empty()) statuses += ", ";
      statuses.append(status.number).append(" ").append(status.meaning);
    }
    add_wrapped(statuses, 2, 2);
  }
  std::string& text() { return text_; }

 private:
  const Command& command_;
  std::size_t width_;
  bool color_;
  std::string text_;
};

}  // namespace

std::string help_text(const Command& command, std::size_t width, bool color) {
  HelpText help(command, width, color);
  help.add_title();
  help.add_usage();
  help.add_examples();
  for (const std::string& paragraph : command.descriptions()) {
    help.text() += '\n';
    help.add_wrapped(paragraph, 0, 0);
  }
  for (const std::string_view group : groups(command)) help.add_group(group);
  help.add_exit_statuses();
  return std::move(help.text());
}

namespace {

std::string short_help_with(std::size_t examples, const Command& command, std::size_t width, bool color) {
  HelpText help(command, width, color);
  help.add_title();
  help.add_wrapped("Usage: " + usage_line(command), 0, 2);
  help.add_first_examples(examples);
  help.add_heading("Most used options");
  for (const std::string& name : command.daily_flags()) {
    for (const Flag& flag : command.flags()) {
      if (flag.long_name() == name) help.add_flag(flag, first_clause(flag.help));
    }
  }
  help.text() += '\n';
  help.add_wrapped("All options: --help. One group: --help=" + joined(group_names(command)), 0, 0);
  return std::move(help.text());
}

}  // namespace

std::string short_help_text(const Command& command, std::size_t width, bool color) {
  std::size_t examples = std::min(command.examples().size(), most_examples);
  while (true) {
    std::string text = short_help_with(examples, command, width, color);
    if (examples <= 1 || std::ranges::count(text, '\n') <= std::ptrdiff_t{screen_lines}) return text;
    --examples;
  }
}

std::vector<std::string> group_names(const Command& command) {
  std::vector<std::string> names;
  for (const std::string_view group : groups(command)) names.push_back(group_name(group));
  return names;
}

std::optional<std::string> group_help_text(const Command& command, std::string_view name, std::size_t width,
                                           bool color) {
  HelpText help(command, width, color);
  for (const std::string_view group : groups(command)) {
    if (group_name(group) == name) help.add_group(group);
  }
  if (help.text().empty()) return std::nullopt;
  help.text().erase(0, 1);  // removes the empty line before the heading
  return std::move(help.text());
}

}  // namespace modelutils::cli
