// verify --together: checks that a projector, adapter, importance matrix or draft fits its model.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "gguf/split_set.h"
#include "quantize/importance.h"

namespace modelutils {

/// A model and the rules for the files that accompany it.
class Together {
 public:
  /// Opens GGUF files and importance matrices. The first whole model among the paths is the model; further ones are
  /// drafts. Errors: kind usage if there is no model or nothing besides it; those of opening the files.
  static Result<Together> open(const std::vector<std::string>& paths, OutsideLinks links);

  /// Reports mismatches between `set` and the model, with code "gguf-together". Adds nothing for the model itself.
  void check(const gguf::SplitSet& set, FindingLog& log) const;
  /// Like check() for a GGUF file, for an importance matrix in the older format.
  void check(const quantize::ImportanceMatrix& matrix, FindingLog& log) const;

 private:
  explicit Together(gguf::SplitSet model) : model_(std::move(model)) {}

  gguf::SplitSet model_;
};

}  // namespace modelutils
