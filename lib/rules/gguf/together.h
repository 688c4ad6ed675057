// verify --together: does what goes with a model (projector, adapter, importance matrix, draft)
// fit it?
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "gguf/split_set.h"
#include "quantize/importance.h"

namespace modelutils {

/// The model among several GGUF paths and importance matrices, and the rules for what goes with it.
class Together {
 public:
  /// The first whole model among the paths is the model; further ones are drafts. Errors: kind usage if there is none,
  /// or nothing besides it; those of opening them.
  static Result<Together> open(const std::vector<std::string>& paths, OutsideLinks links);

  /// Adds what does not fit; nothing for the model itself. Code "gguf-together".
  void check(const gguf::SplitSet& set, FindingLog& log) const;
  /// The same of an importance matrix of the older format.
  void check(const quantize::ImportanceMatrix& matrix, FindingLog& log) const;

 private:
  explicit Together(gguf::SplitSet model) : model_(std::move(model)) {}

  gguf::SplitSet model_;
};

}  // namespace modelutils
