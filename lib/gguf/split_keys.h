// The keys by which a part of a split model says which part of how many it is.
#pragma once

#include <string_view>

#include "gguf/split_set.h"

namespace modelutils::gguf {

/// split.no, split.count or split.tensors.count: what a part says of its set, and a whole model does not.
bool is_split_key(std::string_view key);

/// Does the model come in parts, be it a single one that says so? Then its split keys are not the model's own.
bool is_in_parts(const SplitSet& set);

}  // namespace modelutils::gguf
