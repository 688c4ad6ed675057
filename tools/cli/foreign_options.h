// Options of other programs that users type by habit.
#pragma once

#include <span>
#include <string_view>

namespace modelutils::cli {

/// One row of the table: another program's name for an option that our tools have.
struct ForeignOption {
  std::string_view names;        ///< separated by '|': "--ctx|--ctx-size|-c"
  std::string_view flag;         ///< our option; if empty, no option is needed, and `answer` applies to every tool
  std::string_view answer = {};  ///< what to say instead of "did you mean": a clause
};

/// Returns the table. If several rows have a name, the first whose flag the tool has applies.
std::span<const ForeignOption> foreign_options();

}  // namespace modelutils::cli
