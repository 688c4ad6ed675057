// Computes the rank and the scale that PEFT gives a module.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "adapter/module_pattern.h"
#include "base/error.h"

namespace modelutils::adapter {

class PeftScaling {
 public:
  using Patterns = std::vector<std::pair<ModulePattern, double>>;

  PeftScaling() = default;
  PeftScaling(double rank, double alpha, bool is_rslora, Patterns ranks, Patterns alphas)
      : rank_(rank), alpha_(alpha), is_rslora_(is_rslora), ranks_(std::move(ranks)), alphas_(std::move(alphas)) {}

  struct Values {
    double rank = 0;
    double scale = 0;  ///< alpha / rank; with rslora, alpha / √rank
  };
  /// Returns the values for a module, or for a parameter with its own pair ("….experts.down_proj"): from the first
  /// pattern that matches, else the defaults. Fails with "adapter-config" for a name that is not printable ASCII, or if
  /// there are too many keys and modules to try. Not thread-safe.
  Result<Values> of(std::string_view module) const;

 private:
  Result<double> value(std::string_view field, const Patterns& patterns, std::string_view module,
                       double otherwise) const;

  double rank_ = 1;
  double alpha_ = 1;
  bool is_rslora_ = false;
  Patterns ranks_, alphas_;
  mutable u64 steps_ = u64{1} << 30;  // remaining steps for matching keys
};

}  // namespace modelutils::adapter
