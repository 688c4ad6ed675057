// verify --together for every form of model and adapter: GGUF files among themselves (rules/gguf/together.h), and LoRA
// adapters with a base of which only one of the two is a GGUF, or none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adapter/gguf_adapter.h"
#include "adapter/pairs.h"
#include "base/finding_log.h"
#include "model/model.h"
#include "rules/gguf/together.h"

namespace modelutils {

class TogetherChecks {
 public:
  /// The first model among the paths is the base. Errors: kind usage if there is none, or nothing besides it; those of
  /// opening, and of to_gguf::read_base().
  static Result<TogetherChecks> open(const std::vector<std::string>& paths, OutsideLinks links);

  /// Adds what does not fit; nothing for the model itself. Codes: "gguf-together", "adapter-…".
  void check(const Model& model, FindingLog& log) const;

 private:
  void check_directory(const SafetensorsModel& model, FindingLog& log) const;
  void check_pairs(const gguf::SplitSet& set, FindingLog& log) const;
  void check_scaled_pair(const adapter::GgufPair& pair, FindingLog& log) const;

  std::optional<Together> files_;      // GGUF files
  std::optional<adapter::Base> base_;  // where an adapter or the base is a directory
  std::string base_path_;
};

}  // namespace modelutils
