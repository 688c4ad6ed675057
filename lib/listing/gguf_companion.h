// Describes GGUF files that accompany a model: adapters, importance matrices, projectors.
#pragma once

#include <string>
#include <vector>

#include "gguf/split_set.h"
#include "quantize/importance.h"

namespace modelutils {

/// Returns facts of a few words each: "LoRA adapter", "rank 8", "alpha 16", "2 matrices". Empty for a model. The keys
/// are those written by llama.cpp's llama-imatrix, convert_lora_to_gguf.py and convert_hf_to_gguf.py --mmproj. Reads no
/// tensor data; of an importance matrix, the names of its calibration texts.
std::vector<std::string> companion_facts(const gguf::SplitSet& set);

/// Like companion_facts(), for an importance matrix in the format before GGUF.
std::vector<std::string> legacy_imatrix_facts(const quantize::ImportanceMatrix& matrix);

}  // namespace modelutils
