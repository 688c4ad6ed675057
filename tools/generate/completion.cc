#include "completion.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "cli/help_text.h"

namespace modelutils::generate {

namespace {

using cli::Flag;
using cli::ValueKind;

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// Quotes text for bash and zsh.
std::string in_quotes(std::string text) {
  replace_all(text, "'", "'\\''");
  return "'" + text + "'";
}

// Splits "-o,--output" into "-o" and "--output".
std::vector<std::string> names_of(const Flag& flag) {
  const std::size_t comma = flag.names.find(',');
  if (comma == std::string::npos) return {flag.names};
  return {flag.names.substr(0, comma), flag.names.substr(comma + 1)};
}

bool takes_names(const Flag& flag) {
  return flag.kind == ValueKind::key || flag.kind == ValueKind::known_key || flag.kind == ValueKind::tensor;
}

std::string_view list_of(const Flag& flag) {
  if (flag.kind == ValueKind::known_key) return "known-keys";
  return flag.kind == ValueKind::key ? "keys" : "tensors";
}

bool is_file(const Flag& flag) {
  return flag.kind == ValueKind::file || flag.kind == ValueKind::output_file;
}

// True if the tool accepts models at an address; such tools have --no-cache.
bool takes_addresses(const cli::Command& command) {
  return std::ranges::any_of(command.flags(), [](const Flag& flag) { return flag.names == "--no-cache"; });
}

// "modelutils ls" is a part of the completion of modelutils.
bool is_part(const cli::Command& command) {
  return command.name().find(' ') != std::string::npos;
}

std::string program_of(const cli::Command& command) {
  return command.name().substr(0, command.name().find(' '));
}

std::string identifier_of(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == ' '; }, '_');
  return name;
}

// True if the first argument may be a model in a store or at an address.
bool takes_models(const cli::Command& command) {
  return takes_addresses(command) || command.name() == "modelutils link";
}

// Keeps or removes the part between "#< name" and "#> name"; removes the marker lines.
void keep_part(std::string& text, std::string_view name, bool is_kept) {
  const std::string begin_mark = fmt::format("#< {}\n", name);
  const std::string end_mark = fmt::format("#> {}\n", name);
  const std::size_t begin = text.find(begin_mark);
  const std::size_t end = text.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos) return;
  text.erase(end, end_mark.size());
  text.erase(begin, is_kept ? begin_mark.size() : end - begin);
}

// Replaces the placeholders that all shells share, and removes the parts that the tool does not need.
void fill_in(const cli::Command& command, const CommandParts& parts, std::string& text) {
  const bool has_commands = !parts.names.empty();
  keep_part(text, "names", std::ranges::any_of(command.flags(), takes_names));
  keep_part(text, "headers", takes_addresses(command));
  keep_part(text, "own-models", takes_addresses(command));
  keep_part(text, "addresses", takes_addresses(command) || has_commands);
  keep_part(text, "commands", has_commands);
  keep_part(text, "helpers", !is_part(command));
  keep_part(text, "helpers-end", !is_part(command));
  while (text.find("#< part\n") != std::string::npos) keep_part(text, "part", is_part(command));
  replace_all(text, "@parts@", parts.text);
  replace_all(text, "@commands@", joined(parts.names, " | "));
  replace_all(text, "@groups@", joined(cli::group_names(command), " "));
  replace_all(text, "@id@", identifier_of(program_of(command)));
  replace_all(text, "@main@", identifier_of(command.name()));
  replace_all(text, "@tool@", program_of(command));
  replace_all(text, "@lister@", command.name() == "st-dump" ? "st-dump" : "gguf-dump");
}

std::string bash_action(const Flag& flag) {
  if (flag.kind == ValueKind::choice) return fmt::format("words '{}'", joined(flag.choices, " "));
  if (takes_names(flag)) return fmt::format("names {}", list_of(flag));
  if (flag.kind == ValueKind::directory) {
    return flag.file_patterns.empty() ? "files -d" : fmt::format("either '{}'", joined(flag.file_patterns, " "));
  }
  if (!is_file(flag)) return "nothing";
  return flag.file_patterns.empty() ? "files" : fmt::format("files '{}'", joined(flag.file_patterns, "' '"));
}

std::string zsh_action(const Flag& flag, std::string_view id) {
  if (flag.kind == ValueKind::choice) return fmt::format("({})", joined(flag.choices, " "));
  if (takes_names(flag)) return fmt::format(" _{}_names {}", id, list_of(flag));
  if (flag.kind == ValueKind::directory) {
    return flag.file_patterns.empty() ? "_files -/"
                                      : fmt::format(" _{}_either {}", id, joined(flag.file_patterns, " "));
  }
  if (!is_file(flag)) return " ";
  return flag.file_patterns.empty() ? "_files" : fmt::format("_files -g \"{}\"", joined(flag.file_patterns, " "));
}

std::string fish_action(const Flag& flag, std::string_view id) {
  if (flag.kind == ValueKind::choice) return fmt::format(" -x -a '{}'", joined(flag.choices, " "));
  if (takes_names(flag)) return fmt::format(" -x -a '(__{}_names {})'", id, list_of(flag));
  if (flag.kind == ValueKind::directory) {
    return fmt::format(" -x -a '(__fish_complete_directories){}{}'", flag.file_patterns.empty() ? "" : " ",
                       joined(flag.file_patterns, " "));
  }
  if (!is_file(flag)) return " -x";
  if (flag.file_patterns.empty()) return " -r -F";
  std::string suffixes;
  for (const std::string& pattern : flag.file_patterns) suffixes += " " + pattern.substr(1);
  // Lists files with these suffixes before all others.
  return fmt::format(" -k -x -a '(for end in{}; __fish_complete_suffix $end; end)'", suffixes);
}

std::string identifier(const cli::Command& command) {
  return identifier_of(program_of(command));
}

}  // namespace

std::string bash_completion(const cli::Command& command, std::string text, const CommandParts& parts) {
  std::string flags;
  std::string values;
  for (const Flag& flag : command.flags()) {
    if (flag.is_positional()) {
      replace_all(text, "@positional@", (takes_models(command) ? "models " : "") + bash_action(flag));
      continue;
    }
    for (const std::string& name : names_of(flag)) flags += (flags.empty() ? "" : " ") + name;
    if (flag.value_name.empty()) continue;
    values += fmt::format("    {}) _{}_{} ;;\n", joined(names_of(flag), " | "), identifier(command), bash_action(flag));
  }
  replace_all(text, "@flags@", flags);
  replace_all(text, "@values@\n", values);
  fill_in(command, parts, text);
  return text;
}

std::string zsh_completion(const cli::Command& command, std::string text, const CommandParts& parts) {
  std::string specs;
  const auto line = [&](std::string_view spec) { specs += fmt::format(" \\\n  {}", spec); };
  for (const Flag& flag : command.flags()) {
    const std::string help = "[" + escaped(flag.help, "[]:\\") + "]";
    const std::string value = escaped(flag.is_positional() ? flag.names : flag.value_name, ":\\");
    std::string action = zsh_action(flag, identifier(command));
    if (flag.is_positional()) {
      if (takes_models(command)) action = fmt::format(" _{}_models {}", identifier(command), action);
      line(in_quotes(fmt::format("{}:{}:{}", flag.repeatable ? "*" : "1", value, action)));
      continue;
    }
    const std::vector<std::string> names = names_of(flag);
    const std::string tail = value.empty() ? help : fmt::format("{}:{}:{}", help, value, action);
    for (const std::string& name : names) {
      // "+": the value may follow the letter directly; "=": the value may follow "=".
      const std::string_view join = value.empty() ? "" : name.starts_with("--") ? "=" : "+";
      const std::string excluded = flag.repeatable     ? "*"
                                   : names.size() == 1 ? ""
                                                       : fmt::format("({})", joined(names, " "));
      if (name == "--help")
        line(in_quotes(fmt::format("{}--help=-{}::group:(@groups@)", excluded, help)));
      else
        line(in_quotes(excluded + name + std::string(join) + tail));
    }
  }
  replace_all(text, "@specs@", specs);
  fill_in(command, parts, text);
  return text;
}

std::string fish_completion(const cli::Command& command, std::string text, const CommandParts& parts) {
  std::string specs, when;
  if (is_part(command)) {
    when = fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name().substr(command.name().find(' ') + 1));
  } else if (!parts.names.empty()) {
    when = " -n __fish_use_subcommand";
  }
  for (const Flag& flag : command.flags()) {
    specs += "complete -c " + program_of(command);
    if (!flag.is_positional()) {
      for (const std::string& name : names_of(flag)) {
        specs += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
    }
    if (flag.is_positional() && is_part(command) && takes_models(command)) {
      specs += fmt::format(" -a '(__{}_addresses)'{}\ncomplete -c {}", identifier(command), when, program_of(command));
    }
    const bool has_value = flag.is_positional() || !flag.value_name.empty();
    specs += has_value ? fish_action(flag, identifier(command)) : "";
    if (flag.names == "-h,--help") specs += " -f -a '@groups@'";  // only after "--help=": the value is optional
    if (!flag.is_positional()) specs += fmt::format(" -d '{}'", escaped(flag.help, "'\\"));
    specs += when + "\n";
  }
  replace_all(text, "@specs@\n", specs);
  fill_in(command, parts, text);
  return text;
}

}  // namespace modelutils::generate
