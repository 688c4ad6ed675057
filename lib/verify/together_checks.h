// verify --together for all forms of models and adapters: a set of GGUF files (rules/gguf/together.h), and LoRA
// adapters with a base where at most one of the two is a GGUF.
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
  /// Opens the paths. The first model among them is the base. Errors: kind usage if there is no model or nothing else;
  /// those of opening and of to_gguf::read_base().
  static Result<TogetherChecks> open(const std::vector<std::string>& paths, OutsideLinks links);

  /// Logs mismatches between `model` and the base; logs nothing for the base itself. Codes: "gguf-together",
  /// "adapter-…".
  void check(const Model& model, FindingLog& log) const;

 private:
  void check_directory(const SafetensorsModel& model, FindingLog& log) const;
  void check_pairs(const gguf::SplitSet& set, FindingLog& log) const;
  void check_scaled_pair(const adapter::GgufPair& pair, FindingLog& log) const;

  std::optional<Together> files_;      // set for GGUF files
  std::optional<adapter::Base> base_;  // set if the adapter or the base is a directory
  std::string base_path_;
};

}  // namespace modelutils
