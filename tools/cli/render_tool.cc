#include "cli/render_tool.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/read_text.h"

namespace modelutils::cli {

namespace {

Flag render_flag(std::string_view name, std::string_view value_name, std::string_view help, ValueKind kind) {
  return {.names = std::string(name),
          .value_name = std::string(value_name),
          .help = std::string(help),
          .group = "Chat templates",
          .kind = kind};
}

}  // namespace

void add_render_flags(Command& command, RenderArguments& arguments) {
  command.add(render_flag("--render", "FILE",
                          "Render the chat template with the messages in FILE (JSON: a list, or an object with "
                          "messages, tools and further variables); - reads standard input",
                          ValueKind::file),
              arguments.messages);
  command.add(
      render_flag("--render-example", {}, "Render the chat template with three example messages", ValueKind::text),
      arguments.example);
  command.add(render_flag("--template", "NAME", "With --render: use the template called NAME", ValueKind::text),
              arguments.name);
  command.add(
      render_flag("--tools", "FILE", "With --render: the tools that the model may call (JSON)", ValueKind::file),
      arguments.tools);
  command.add(
      render_flag("--set", "NAME=VALUE", "With --render: set a template variable to JSON or text", ValueKind::text),
      arguments.variables);
  command.add(
      render_flag("--no-generation-prompt", {}, "With --render: leave out the generation prompt", ValueKind::text),
      arguments.no_generation_prompt);
}

Status check_render_arguments(const RenderArguments& arguments, const std::vector<std::string>& paths) {
  if (!arguments.is_asked_for()) {
    const std::string_view flag = arguments.name                   ? "--template"
                                  : arguments.tools                ? "--tools"
                                  : !arguments.variables.empty()   ? "--set"
                                  : arguments.no_generation_prompt ? "--no-generation-prompt"
                                                                   : "";
    if (!flag.empty()) return usage_error(std::string(flag) + " needs --render or --render-example");
    return {};
  }
  if (arguments.messages && arguments.example) {
    return usage_error("--render and --render-example cannot be combined");
  }
  for (const std::string& variable : arguments.variables) {
    const std::size_t equals = variable.find('=');
    if (equals == 0 || equals == variable.npos) {
      return usage_error(fmt::format("--set needs NAME=VALUE, not '{}'", variable));
    }
  }
  if (paths.size() > 1) return usage_error("--render takes one model");
  const auto readers = std::count(paths.begin(), paths.end(), "-") + (arguments.messages == "-" ? 1 : 0) +
                       (arguments.tools == "-" ? 1 : 0);
  if (readers > 1)
    return usage_error("standard input can be read only once: as the model, for --render or for --tools");
  return {};
}

Result<PromptRequest> prompt_request(const RenderArguments& arguments) {
  const auto read = [](const std::string& path) -> Result<NamedJson> {
    MU_ASSIGN(std::string text, read_text(path, max_conversation_bytes));
    return NamedJson{path == "-" ? "standard input" : path, std::move(text)};
  };
  PromptRequest request;
  request.messages = example_conversation();
  if (arguments.messages) {
    MU_ASSIGN(request.messages, read(*arguments.messages));
  }
  if (arguments.tools) {
    MU_ASSIGN(request.tools, read(*arguments.tools));
  }
  for (const std::string& variable : arguments.variables) {
    const std::size_t equals = variable.find('=');
    request.variables.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  request.no_generation_prompt = arguments.no_generation_prompt;
  return request;
}

}  // namespace modelutils::cli
