// A draft next to its model: a file of the blocks that predict further tokens, a draft that reads its target's layers,
// or a small model of the same vocabulary.
#pragma once

#include "base/finding_log.h"
#include "gguf/split_set.h"

namespace modelutils {

/// Is the file a draft and nothing else: does it need the layers, the cache or the embedding of another model?
bool is_draft_alone(const gguf::SplitSet& set);

/// Adds what keeps `draft` from drafting for `model`: the vocabulary, the width, the layers it reads. Code
/// "gguf-together".
void check_draft(const gguf::SplitSet& model, const gguf::SplitSet& draft, FindingLog& log);

}  // namespace modelutils
