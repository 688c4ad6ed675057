// Checks a draft against its model. A draft is a file with only prediction blocks, a draft model that reads its
// target's layers, or a small model with the same vocabulary.
#pragma once

#include "base/finding_log.h"
#include "gguf/split_set.h"

namespace modelutils {

/// True if the file is only useful as a draft, because it needs the layers, the cache or the embedding of another
/// model.
bool is_draft_alone(const gguf::SplitSet& set);

/// Reports anything that keeps `draft` from drafting for `model`: its vocabulary, its width, the layers it reads. Code
/// "gguf-together".
void check_draft(const gguf::SplitSet& model, const gguf::SplitSet& draft, FindingLog& log);

}  // namespace modelutils
