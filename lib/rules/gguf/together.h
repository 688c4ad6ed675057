// verify --together: checks that a projector, adapter, importance matrix or draft fits its model. A draft is a file
// with only prediction blocks, a draft model that reads its target's layers, or a small model with the same
// vocabulary.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "formats/gguf/split_set.h"
#include "formats/imatrix/importance.h"

namespace modelutils {

// Checks a draft against its model. A draft is a file with only prediction blocks, a draft model that reads its
// target's layers, or a small model with the same vocabulary.

/// True if the file is only useful as a draft, because it needs the layers, the cache or the embedding of another
/// model.
bool is_draft_alone(const gguf::SplitSet& set);

/// Reports anything that keeps `draft` from drafting for `model`: its vocabulary, its width, the layers it reads. Code
/// "gguf-together".
void check_draft(const gguf::SplitSet& model, const gguf::SplitSet& draft, FindingLog& log);

/// Reports to which of the text models in its folder a projector belongs, if there are several projectors: the note
/// "projector-belongs", or the warning "projector-alone" if none fits.
void check_projector_folder(const gguf::SplitSet& projector, FindingLog& log);

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
