// Renders a conversation with a model's chat template.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "listing/chat_source.h"

namespace modelutils {

/// Largest accepted JSON text: 64 MiB.
constexpr std::size_t max_conversation_bytes = std::size_t{64} << 20;

/// A JSON text and its name in messages.
struct NamedJson {
  std::string name;
  std::string text;
};

struct PromptRequest {
  NamedJson messages;  ///< a list of messages, or an object with `messages` and further variables
  std::optional<NamedJson> tools = {};
  std::vector<std::pair<std::string, std::string>> variables = {};  ///< name and value, JSON or text
  bool no_generation_prompt = false;
};

/// Returns a conversation of three messages with two roles.
NamedJson example_conversation();

/// Returns the prompt, byte for byte as transformers renders it; the template's clock is report_time(). Variables in
/// `wanted` take precedence over members of the messages object. Errors: "template-messages", those of JSON, of
/// jinja::parse() and jinja::render().
Result<std::string> rendered_prompt(const ChatSource& chat, const PromptRequest& wanted);

/// Returns "template-messages" for a text of more than max_conversation_bytes.
tl::unexpected<Error> too_long_conversation(const std::string& name);

}  // namespace modelutils
