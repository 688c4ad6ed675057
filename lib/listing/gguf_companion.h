// GGUF files that go with a model: adapters, importance matrices, projectors.
#pragma once

#include <string>
#include <vector>

#include "gguf/split_set.h"
#include "quantize/importance.h"

namespace modelutils {

/// What such a file is, a few words each: "LoRA adapter", "rank 8", "alpha 16", "2 matrices". Empty for a model. Keys
/// as llama.cpp's llama-imatrix, convert_lora_to_gguf.py and convert_hf_to_gguf.py --mmproj write them. Reads no data
/// but the names of an importance matrix's texts.
std::vector<std::string> companion_facts(const gguf::SplitSet& set);

/// The same of an importance matrix of the format before GGUF.
std::vector<std::string> legacy_imatrix_facts(const quantize::ImportanceMatrix& matrix);

}  // namespace modelutils
