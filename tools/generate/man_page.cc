#include "man_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "cli/help_text.h"

namespace modelutils::generate {

namespace {

// Escapes text so that roff prints it literally: "-" stays an ASCII hyphen that can be copied, and a leading "." or "'"
// does not start a request.
std::string roff(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  while (!text.empty()) {
    const CodePoint next = decode_utf8(text);
    const char c = text[0];
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (next.size > 1) {
      out += fmt::format("\\[u{:04X}]", static_cast<u32>(next.value));
    } else {
      out += c;
    }
    text.remove_prefix(next.size);
  }
  return out;
}

std::string sentence(std::string_view text) {
  return roff(text) + (text.ends_with('?') || text.ends_with('.') ? "\n" : ".\n");
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text) + "\\fR";
}
std::string italic(std::string_view text) {
  return "\\fI" + roff(text) + "\\fR";
}

// Returns the heading of a flag: "\fB-o\fR, \fB--output\fR \fIFILE\fR".
std::string tag(const cli::Flag& flag) {
  if (flag.is_positional()) return italic(flag.names);
  const std::size_t comma = flag.names.find(',');
  std::string out = bold(flag.names.substr(0, comma));
  if (comma != std::string::npos) out += ", " + bold(flag.names.substr(comma + 1));
  if (!flag.value_name.empty()) out += " " + italic(flag.value_name);
  return out;
}

void append_flags(std::string& out, const cli::Command& command) {
  for (const std::string_view group : cli::groups(command)) {
    if (group != cli::Flag{}.group) out += fmt::format(".SS {}\n", roff(group));
    for (const cli::Flag& flag : command.flags()) {
      if (flag.group == group) out += ".TP\n" + tag(flag) + "\n" + sentence(cli::help_of(flag));
    }
  }
}

}  // namespace

std::string man_page(const cli::Command& command, std::string_view version, std::string_view date,
                     std::span<const std::string> tools) {
  std::string name = command.name();
  std::ranges::replace(name, ' ', '-');  // the page's name: modelutils-ls
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string out = fmt::format(".TH {} 1 {} \"modelutils {}\" \"modelutils\"\n.SH NAME\n{} \\- {}\n", roff(title),
                                date, version, roff(name), roff(command.summary()));
  out += ".SH SYNOPSIS\n" + bold(command.name()) + " " +
         italic(cli::usage_line(command).substr(command.name().size() + 1)) + "\n";
  out += ".SH DESCRIPTION\n";
  for (const std::string& paragraph : command.descriptions()) {
    if (&paragraph != &command.descriptions().front()) out += ".PP\n";
    out += roff(paragraph) + "\n";
  }
  out += ".SH EXAMPLES\n";
  for (const cli::Example& example : command.examples()) {
    out += ".TP\n" + bold(example.command) + "\n" + sentence(example.explanation);
  }
  out += ".SH OPTIONS\n";
  append_flags(out, command);
  out += ".SH EXIT STATUS\n";
  for (const cli::ExitStatus& status : cli::exit_statuses) {
    out += fmt::format(".TP 8\n{}\n{}\n", bold(status.number), roff(status.meaning));
  }
  out += ".SH SEE ALSO\n";
  for (const std::string& other : tools) {
    if (other != command.name()) out += fmt::format(".BR {} (1),\n", roff(other));
  }
  return out + ".BR modelutils (7)\n";
}

}  // namespace modelutils::generate
