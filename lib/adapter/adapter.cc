#include "adapter/adapter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/place.h"

namespace modelutils::adapter {

Result<double> PeftScaling::value(std::string_view field, const Patterns& patterns, std::string_view module,
                                  double otherwise) const {
  if (patterns.empty()) return otherwise;
  // Python's character classes are Unicode; ours are ASCII. Module names are Python identifiers, nearly always ASCII.
  if (!std::ranges::all_of(module, [](char c) { return c >= ' ' && c < 127; })) {
    return input_error("adapter-config", fmt::format("cannot be applied to '{}', which is not printable ASCII", module),
                       at_key(field));
  }
  for (const auto& [pattern, found] : patterns) {
    if (pattern.names(module, steps_)) return found;
    if (steps_ == 0) {
      return input_error("adapter-config", "has too many or too long keys to match against all modules", at_key(field));
    }
  }
  return otherwise;
}

Result<PeftScaling::Values> PeftScaling::of(std::string_view module) const {
  Values values;
  MU_ASSIGN(values.rank, value("rank_pattern", ranks_, module, rank_));
  MU_ASSIGN(const double alpha, value("alpha_pattern", alphas_, module, alpha_));
  values.scale = is_rslora_ ? alpha / std::sqrt(values.rank) : alpha / values.rank;
  return values;
}

}  // namespace modelutils::adapter
