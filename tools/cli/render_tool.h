// gguf-dump --render: the prompt that a model's chat template makes of a conversation.
#pragma once

#include "cli/command.h"
#include "report/prompt.h"

namespace modelutils::cli {

/// --render and what goes with it.
void add_render_flags(Command& command, PromptRequest& arguments);

/// Prints the prompt of the model at `path`; the exit status.
int render_prompt(const std::string& path, const PromptRequest& arguments, const Messages& messages);

}  // namespace modelutils::cli
