// What a chat template has no business to do, found without rendering it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "template/template.h"

namespace modelutils::jinja {

/// One thing that is suspicious in a template, or that a loader should know of it.
struct Remark {
  std::string_view code;   ///< "template-…", docs/findings.md
  std::string message;     ///< begins with line and column
  std::size_t offset = 0;  ///< byte in the source as it was given
};

/// Characters that a reader does not see or that change what he sees: in the source, whether it parses or not.
std::vector<Remark> hidden_text(std::string_view source);

/// Attributes that lead out of the sandbox, also where their names are put together; templates that are loaded; calls
/// of what no program offers; hidden text in escapes; sizes and loops that explode; text that cannot be reached. Time
/// and memory in proportion to the template. `source`: what `parsed` was parsed from.
std::vector<Remark> inspect(const Template& parsed, std::string_view source);

/// Does the template mention the variable, or have the text in what it writes or compares?
bool mentions(const Template& parsed, std::string_view variable, std::string_view text);

}  // namespace modelutils::jinja
