// What a GGUF with blocks that predict further tokens says besides the keys of its layers.
#pragma once

#include <string>
#include <vector>

#include "arch/family.h"
#include "arch/sizes.h"
#include "gguf/write.h"

namespace modelutils::to_gguf {

/// Counts `blocks` more layers in ARCH.block_count, adds ARCH.nextn_predict_layers behind it, and gives every key with
/// a number for each layer those of the blocks: by `sizes` (arch::sizes_of_blocks()), by PredictionForm::numbers, or as
/// the last layer has it. A single number that the blocks have otherwise becomes such a list.
void add_prediction_keys(const arch::Family& family, const arch::Sizes& sizes, u64 blocks,
                         std::vector<gguf::OutKey>& keys);

/// The key that a file with blocks alone carries (arch::extracted_key), of all tensors of the model in their order.
/// Layers are counted from 0, those from `trunk` on are blocks.
gguf::OutKey extracted_from(const std::vector<std::string>& tensors, u64 trunk);

}  // namespace modelutils::to_gguf
