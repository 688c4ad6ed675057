// The keys that describe a part of a split model.
#pragma once

#include <string_view>

#include "gguf/split_set.h"

namespace modelutils::gguf {

/// True for split.no, split.count and split.tensors.count. Parts of a split model have them; complete models do not.
bool is_split_key(std::string_view key);

/// True if the set has several files, or a single file whose keys mark it as a part. The split keys are then not the
/// model's own.
bool is_in_parts(const SplitSet& set);

}  // namespace modelutils::gguf
