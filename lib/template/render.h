// Renders a template for a conversation. The features that it supports are found by rendering sample conversations and
// comparing the prompts.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "json/value.h"
#include "template/interpreter.h"
#include "template/template.h"

namespace modelutils::jinja {

/// A variable as passed by the caller.
using Input = std::variant<json::Element, std::string, bool, std::nullptr_t>;

struct RenderRequest {
  /// By name; if a name repeats, the first one counts. The template can access nothing else.
  std::vector<std::pair<std::string, Input>> variables = {};
  /// The time for strftime_now(), in seconds since 1970; formatted as local time.
  i64 now = 0;
  Limits limits = {};
};

/// Returns the prompt, byte for byte as transformers renders it. Errors have line and column as their place:
/// "template-raised" with the message of raise_exception(), "template-error" where Jinja or Python would raise,
/// "template-unsupported" naming the missing feature, "template-limit" if the rendering exceeds `limits`.
Result<std::string> render(const Template& parsed, const RenderRequest& request);

/// True if every integer of a JSON text fits into 64 bits. Our JSON reader converts larger ones to double, Python does
/// not.
bool has_exact_integers(std::string_view json);

// The features that a chat template supports, found by rendering sample conversations and comparing the prompts.

struct Capabilities {
  bool system = false;      ///< the prompt contains the text of a system message
  bool tools = false;       ///< the prompt contains a tool's name
  bool thinking = false;    ///< the prompt contains the reasoning of a message (`reasoning_content`, `thinking`,
                            ///< `thought`), or `enable_thinking`, `thinking` or `reasoning_effort` changes it
  bool multimodal = false;  ///< adding an image to a message changes the prompt
};

/// Renders some short conversations, each with limits far below render()'s defaults. Stops after the first one that
/// exceeds them.
Capabilities capabilities(const Template& parsed);

}  // namespace modelutils::jinja
