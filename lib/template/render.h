// Renders a template with the values of a conversation.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "json/value.h"
#include "template/machine.h"
#include "template/template.h"

namespace modelutils::jinja {

/// A variable as the caller has it: JSON, a text, true or false, or null.
using Input = std::variant<json::Element, std::string, bool, std::nullptr_t>;

struct RenderRequest {
  /// By name; the first of a name counts. A template sees nothing else.
  std::vector<std::pair<std::string, Input>> variables = {};
  /// What strftime_now() takes for the time, in seconds since 1970; shown as local time.
  i64 now = 0;
  Limits limits = {};
};

/// The prompt, byte for byte as transformers renders it. Errors, with line and column as the place: "template-raised"
/// with the text of raise_exception(), "template-error" where Jinja or Python would raise, "template-unsupported" with
/// the name of what this engine lacks, "template-limit" where it takes more than Limits allow.
Result<std::string> render(const Template& parsed, const RenderRequest& request);

/// Does every integer of a JSON text fit into 64 bits? The reader makes doubles of others, which Python does not.
bool has_exact_integers(std::string_view json);

}  // namespace modelutils::jinja
