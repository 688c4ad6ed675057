// modelutils TOOL …: runs a tool under one common name, for users whose PATH has another `verify` or `gguf-dump`.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/system.h"
#include "cli/front_options.h"
#ifdef MODELUTILS_STATIC
#include <optional>
#include <string_view>

#include "static_tools.h"
#endif

using namespace modelutils;

namespace {

int run(int argc, char** argv) {
  cli::FrontArguments arguments;
  cli::Command command = cli::front_command(arguments);
  const cli::Messages messages(command);
  const std::vector<std::string> names = cli::tool_names();
  if (argc < 2 || std::ranges::find(names, argv[1]) == names.end()) {
    return command.parse(std::min(argc, 2), argv).value_or(cli::exit_usage);
  }
  // Start the tool in this program's folder, not one from PATH.
  const std::filesystem::path self = system::own_program();
  const std::string path = self.parent_path() / argv[1];
  const int number = self.empty() || ::execv(path.c_str(), argv + 1) == 0 ? ENOENT : errno;
  return messages.error(input_error("io-open", "cannot be started: " + errno_text(number), {}, {}, path).value());
}

}  // namespace

int main(int argc, char** argv) {
#ifdef MODELUTILS_STATIC
  // If called by a tool's name, or with one as its first argument, act as that tool.
  const auto start = [](int count, char** arguments) -> std::optional<int> {
    const std::string_view path = count > 0 ? arguments[0] : "";
    for (const StaticTool* tool = static_tools; tool->name != nullptr; ++tool) {
      if (path.substr(path.rfind('/') + 1) == tool->name) return tool->main(count, arguments);
    }
    return {};
  };
  if (const auto status = start(argc, argv)) return *status;
  if (argc > 1 && std::string_view(argv[1]).find('/') == std::string_view::npos) {
    if (const auto status = start(argc - 1, argv + 1)) return *status;
  }
#endif
  return cli::run_tool("modelutils", argc, argv, run);
}
