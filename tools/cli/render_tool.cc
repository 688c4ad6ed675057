#include "cli/render_tool.h"

#include "io/text_output.h"

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

void add_render_flags(Command& command, PromptRequest& arguments) {
  command.add(
      render_flag(
          "--render", "FILE",
          "Print the prompt that the chat template makes of the messages in FILE (JSON: a list, or an object with "
          "messages, tools and further variables); - reads standard input",
          ValueKind::file),
      arguments.messages);
  command.add(render_flag("--render-example", {}, "The same with a conversation of three messages", ValueKind::text),
              arguments.example);
  command.add(
      render_flag("--template", "NAME", "With --render: one of several templates, by its name", ValueKind::text),
      arguments.name);
  command.add(
      render_flag("--tools", "FILE", "With --render: the tools that the model may call (JSON)", ValueKind::file),
      arguments.tools);
  command.add(
      render_flag("--set", "NAME=VALUE", "With --render: a variable of the template, JSON or text", ValueKind::text),
      arguments.variables);
  command.add(
      render_flag("--no-generation-prompt", {}, "With --render: do not ask for the next answer", ValueKind::text),
      arguments.no_generation_prompt);
}

int render_prompt(const std::string& path, const PromptRequest& arguments, const Messages& messages) {
  const Result<std::string> prompt = rendered_prompt(path, arguments);
  if (!prompt) return messages.error(prompt.error());
  TextOutput out;
  out << *prompt;
  const Status written = out.flush();
  return written ? exit_ok : messages.error(written.error());
}

}  // namespace modelutils::cli
