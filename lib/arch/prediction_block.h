// Blocks that predict further tokens (multi-token prediction), which follow the trunk's blocks.
#pragma once

#include <optional>
#include <string_view>

#include "gguf/split_set.h"

namespace modelutils::arch {

/// The key of files with only such blocks: for each tensor of a block, the name of the tensor before it in the model
/// ("" for the first), so that --graft-mtp can restore the order.
inline constexpr std::string_view extracted_key = "modelutils.mtp.after";

/// Returns N from "blk.N.…", or nullopt for other names and for numbers above 1,000,000.
std::optional<u64> block_of(std::string_view tensor);

/// True if the file has such blocks and none of the trunk: ARCH.nextn_predict_layers is not 0, and every "blk.N." has N
/// of at least ARCH.block_count minus that. llama.cpp only runs such a file beside its model; it crashes on the file
/// alone.
bool is_prediction_alone(const gguf::SplitSet& set);

}  // namespace modelutils::arch
