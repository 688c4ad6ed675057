#include "cli/front_options.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"
#include "cli/all_commands.h"

namespace modelutils::cli {

namespace {

struct Summary {
  std::string name;
  std::string text;
};

std::vector<Summary> summaries() {
  std::vector<Summary> all;
  for_each_command([&]<typename Arguments>(Command (*make)(Arguments&)) {
    Arguments arguments;
    const Command command = make(arguments);
    // "modelutils ls" is 'ls' here.
    all.push_back({command.name().substr(command.name().rfind(' ') + 1), command.summary()});
  });
  return all;
}

}  // namespace

std::vector<std::string> tool_names() {
  std::vector<std::string> names;
  for (Summary& tool : summaries()) names.push_back(std::move(tool.name));
  return names;
}

std::string tools_text(std::size_t width) {
  const std::vector<Summary> tools = summaries();
  std::size_t longest = 0;
  for (const Summary& tool : tools) longest = std::max(longest, tool.name.size());
  std::string text = "Usage: modelutils TOOL [options] …\n\n";
  for (const Summary& tool : tools) {
    text += fmt::format("  {:{}}  ", tool.name, longest);
    append_wrapped(text, tool.text, longest + 4, longest + 4, width);
  }
  text += '\n';
  append_wrapped(text, "'modelutils TOOL -h' shows a tool's examples and most used options.", 0, 0, width);
  return text;
}

std::vector<std::string> tools_with(std::string_view option) {
  std::vector<std::string> names;
  for_each_command([&]<typename Arguments>(Command (*make)(Arguments&)) {
    Arguments arguments;
    const Command command = make(arguments);
    const bool has_it = std::ranges::any_of(
        command.flags(), [&](const Flag& flag) { return !flag.is_positional() && flag.long_name() == option; });
    if (has_it) names.push_back(command.name());
  });
  return names;
}

Command front_command(FrontArguments& arguments) {
  Command command("modelutils", "Run one of the tools by name");
  command.description(
      "For machines where another program is called verify or gguf-dump: 'modelutils TOOL …' runs the tool installed "
      "with modelutils and passes the remaining arguments to it. 'modelutils TOOL --help' lists its options.");
  std::vector<std::string> names;
  for (Summary& tool : summaries()) {
    command.description(fmt::format("{}: {}.", tool.name, tool.text));
    names.push_back(std::move(tool.name));
  }
  command.add({.names = "TOOL",
               .help = "Tool to run; the remaining arguments are passed to it",
               .kind = ValueKind::choice,
               .choices = std::move(names)},
              arguments.tool);
  command.example("modelutils gguf-dump model.gguf", "Show a file's summary, keys and tensors");
  command.example("modelutils ls", "List the models of Ollama, LM Studio, Hugging Face and llama.cpp");
  command.example("modelutils verify --data model.gguf", "Check a file, including all of its data");
  return command;
}

}  // namespace modelutils::cli
