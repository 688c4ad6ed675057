// The program that contains all tools. It runs the tool under whose name it is called (bin/ has a link for each), or
// the tool named by its first argument, for users whose PATH has another `verify` or `gguf-dump`.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/os/files.h"
#include "base/os/process.h"
#include "cli/command.h"
#include "cli/front_options.h"
#include "io/remote_settings.h"
#include "io/standard_output.h"
#include "tools.h"

#ifdef MODELUTILS_STATIC
int fetch_main(int argc, char** argv);  // fetch/main.cc, which is a program of its own in other builds
#endif

using namespace modelutils;

namespace {

struct Tool {
  std::string_view name;
  int (*run)(int argc, char** argv);
};

constexpr std::array tools = {
    Tool{"gguf-dump", cli::gguf_dump},   Tool{"gguf-edit", cli::gguf_edit}, Tool{"gguf-quantize", cli::gguf_quantize},
    Tool{"gguf2bump", cli::gguf2bump},   Tool{"gguf2mlx", cli::gguf2mlx},   Tool{"mlx2gguf", cli::mlx2gguf},
    Tool{"model-diff", cli::model_diff}, Tool{"pt2st", cli::pt2st},         Tool{"st-dump", cli::st_dump},
    Tool{"st-edit", cli::st_edit},       Tool{"verify", cli::verify},
};

// Run as 'modelutils NAME' only: other programs have these names.
constexpr std::array commands = {
    Tool{"modelutils link", cli::link_model},
    Tool{"modelutils ls", cli::ls},
};

const Tool* find_command(std::string_view name) {
  const auto is_named = [&](const Tool& each) { return each.name.substr(each.name.rfind(' ') + 1) == name; };
  const auto command = std::ranges::find_if(commands, is_named);
  return command == commands.end() ? nullptr : command;
}

const Tool* find_tool(std::string_view name) {
  const auto tool = std::ranges::find(tools, name, &Tool::name);
  return tool == tools.end() ? nullptr : tool;
}

// Handles a command line without a tool's name: answers -h and --help, or explains the mistake.
int run_front(int argc, char** argv) {
  const bool is_help = argc > 1 && argv[1] == std::string_view("-h");
  if (argc < 2 || is_help) {
    TextOutput out(is_help ? os::standard_output : os::standard_error);
    out << cli::tools_text(cli::terminal_width(80));
    const Status written = out.flush();
    if (!written) return cli::Messages("modelutils", {}).error(written.error());
    return is_help ? cli::exit_ok : cli::exit_usage;
  }
  cli::FrontArguments arguments;
  cli::Command command = cli::front_command(arguments);
  return command.parse(std::min(argc, 2), argv).value_or(cli::exit_usage);
}

}  // namespace

int main(int argc, char** argv) {
  os::take_arguments(argc, argv);
  const std::string_view path = argc > 0 ? argv[0] : "";
  const std::string_view name = path.substr(path.rfind('/') + 1);
#ifdef MODELUTILS_STATIC
  if (name == "fetch") return fetch_main(argc, argv);
  remote_settings().helper = os::own_program();
#endif
  if (const Tool* tool = find_tool(name)) return cli::run_tool(tool->name.data(), argc, argv, tool->run);
  if (argc > 1) {
    if (const Tool* tool = find_command(argv[1]))
      return cli::run_tool(tool->name.data(), argc - 1, argv + 1, tool->run);
    if (const Tool* tool = find_tool(argv[1])) return cli::run_tool(tool->name.data(), argc - 1, argv + 1, tool->run);
  }
  return cli::run_tool("modelutils", argc, argv, run_front);
}
