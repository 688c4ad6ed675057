// Blocks that predict further tokens (multi-token prediction), which stand behind the trunk's.
#pragma once

#include <optional>
#include <string_view>

#include "gguf/split_set.h"

namespace modelutils::arch {

/// A key of files with such blocks alone: of each of their tensors the name of the one that it followed in the model
/// ("" for the first), so that they can be put back where they were.
inline constexpr std::string_view extracted_key = "modelutils.mtp.after";

/// N of "blk.N.…"; nothing for other names and for numbers above 1,000,000.
std::optional<u64> block_of(std::string_view tensor);

/// Has the file such blocks, and none of the trunk? ARCH.nextn_predict_layers is not 0, and every "blk.N." has N of at
/// least ARCH.block_count minus that. llama.cpp runs such a file next to its model only; alone it crashes.
bool is_prediction_alone(const gguf::SplitSet& set);

}  // namespace modelutils::arch
