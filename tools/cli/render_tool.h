// --render of the dumpers: the prompt that a model's chat template makes of a conversation.
#pragma once

#include <optional>

#include "cli/command.h"
#include "report/prompt.h"

namespace modelutils::cli {

struct RenderArguments {
  std::optional<std::string> messages;  ///< a JSON file, or "-"
  bool example = false;
  std::optional<std::string> tools;  ///< a JSON file, or "-"
  std::optional<std::string> name;   ///< of one of several templates
  std::vector<std::string> variables;
  bool no_generation_prompt = false;

  bool is_asked_for() const { return messages || example; }
};

/// --render and what goes with it.
void add_render_flags(Command& command, RenderArguments& arguments);

/// Errors (usage): flags that do not go together, or not with the `paths` of the models.
Status check_render_arguments(const RenderArguments& arguments, const std::vector<std::string>& paths);

/// Reads the files that the flags name.
Result<PromptRequest> prompt_request(const RenderArguments& arguments);

}  // namespace modelutils::cli
