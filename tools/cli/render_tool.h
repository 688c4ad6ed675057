// --render of the dumpers: applies a model's chat template to a conversation.
#pragma once

#include <optional>

#include "cli/command.h"
#include "report/prompt.h"

namespace modelutils::cli {

struct RenderArguments {
  std::optional<std::string> messages;  ///< a JSON file, or "-"
  bool example = false;
  std::optional<std::string> tools;  ///< a JSON file, or "-"
  std::optional<std::string> name;   ///< selects one of several templates
  std::vector<std::string> variables;
  bool no_generation_prompt = false;

  bool is_asked_for() const { return messages || example; }
};

/// Adds --render and its options.
void add_render_flags(Command& command, RenderArguments& arguments);

/// Returns a usage error if flags contradict each other or the `paths` of the models.
Status check_render_arguments(const RenderArguments& arguments, const std::vector<std::string>& paths);

/// Reads the files named by the flags.
Result<PromptRequest> prompt_request(const RenderArguments& arguments);

}  // namespace modelutils::cli
