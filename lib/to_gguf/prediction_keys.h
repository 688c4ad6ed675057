// Adapts and adds GGUF keys for models with blocks that predict further tokens.
#pragma once

#include <string>
#include <vector>

#include "arch/family.h"
#include "arch/sizes.h"
#include "gguf/write.h"

namespace modelutils::to_gguf {

/// Adds `blocks` to ARCH.block_count, inserts ARCH.nextn_predict_layers after it, and extends every per-layer key with
/// values for the blocks: from `sizes` (arch::sizes_of_blocks()), from PredictionForm::numbers, or repeating the last
/// layer's. A single number becomes a per-layer list if the blocks differ from it.
void add_prediction_keys(const arch::Family& family, const arch::Sizes& sizes, u64 blocks,
                         std::vector<gguf::OutKey>& keys);

/// Returns the key that marks a file as holding only the blocks (arch::extracted_key). `tensors` are all names of the
/// full model in order; layers from `trunk` (0-based) on are blocks.
gguf::OutKey extracted_from(const std::vector<std::string>& tensors, u64 trunk);

}  // namespace modelutils::to_gguf
