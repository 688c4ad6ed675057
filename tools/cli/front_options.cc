#include "cli/front_options.h"

#include <fmt/core.h>

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
    all.push_back({command.name(), command.summary()});
  });
  return all;
}

}  // namespace

std::vector<std::string> tool_names() {
  std::vector<std::string> names;
  for (Summary& tool : summaries()) names.push_back(std::move(tool.name));
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
  command.add_path({.names = "TOOL",
                    .help = "Tool to run; the remaining arguments are passed to it",
                    .kind = ValueKind::choice,
                    .choices = std::move(names)},
                   arguments.tool);
  command.example("modelutils gguf-dump model.gguf", "Show a file's summary, keys and tensors");
  command.example("modelutils verify --data model.gguf", "Check a file, including all of its data");
  return command;
}

}  // namespace modelutils::cli
