// The prompt that a model's chat template makes of a conversation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace modelutils {

struct PromptRequest {
  std::optional<std::string> messages;  ///< a JSON file, or "-": a list of messages, or an object with more variables
  bool example = false;                 ///< a conversation of three messages instead
  std::optional<std::string> tools;     ///< a JSON file
  std::optional<std::string> name;      ///< of one of several templates
  std::vector<std::string> variables;   ///< NAME=VALUE, JSON or text
  bool no_generation_prompt = false;

  bool is_asked_for() const { return messages || example; }
};

/// The prompt of the GGUF at `path`, byte for byte as transformers renders it. Errors: those of opening,
/// "template-missing" (kind no_match), "template-messages", those of jinja::parse() and jinja::render(), usage.
Result<std::string> rendered_prompt(const std::string& path, const PromptRequest& wanted);

}  // namespace modelutils
