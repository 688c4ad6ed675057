// Reads sizes from the keys of a GGUF, with the loader's defaults for absent keys.
#pragma once

#include "arch/family.h"
#include "base/error.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"

namespace modelutils::arch {

/// Describes how llama.cpp behaves without a key or tensor ("attn_q.bias") that the family's models have.
std::string_view absence(const Family& family, std::string_view name);

/// Reads `<architecture>.*` as llama.cpp's loader does, including arrays. `index` is the index of `file`, the first of
/// the set. V is the length of tokenizer.ggml.tokens, or `<architecture>.vocab_size`, or 0. Error "loader-key": the
/// first required key that is absent, zero or unusable, or a number above the loader's limit (512 layers, 512 experts).
Result<Sizes> read_gguf_sizes(const Family& family, const gguf::Index& index, const gguf::SetFile& file);

/// Excludes the last `nextn_predict_layers` blocks from the layers, as the loader does for every architecture. `sizes`
/// then describe the trunk.
void leave_out_prediction(const Family& family, const gguf::Index& index, Sizes& sizes);

/// Returns the sizes that usable keys state, without errors. For choosing a family and for summaries.
Sizes stated_gguf_sizes(const Family& family, const gguf::Index& index);

}  // namespace modelutils::arch
