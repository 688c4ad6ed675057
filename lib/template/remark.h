// What is said of a template that was not rendered.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace modelutils::jinja {

/// One thing that is suspicious in a template, or that a loader should know of it.
struct Remark {
  std::string_view code;   ///< "template-…", docs/findings.md
  std::string message;     ///< begins with line and column
  std::size_t offset = 0;  ///< byte in the source as it was given
  bool is_note = false;    ///< published templates have it, too
};

}  // namespace modelutils::jinja
