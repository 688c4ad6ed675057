// A finding of the static checks of templates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace modelutils::jinja {

/// A suspicious construct in a template, or a fact that a loader should know.
struct Remark {
  std::string_view code;   ///< "template-…", docs/findings.md
  std::string message;     ///< starts with line and column
  std::size_t offset = 0;  ///< byte in the original source
  bool is_note = false;    ///< also occurs in reputable published templates
};

}  // namespace modelutils::jinja
