// Sizes that the keys of a GGUF state, with the loader's defaults for those that may be absent.
#pragma once

#include "arch/family.h"
#include "base/error.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"

namespace modelutils::arch {

/// What it means for llama.cpp that a key or tensor ("attn_q.bias") of the family, which its models have, is not there.
std::string_view absence(const Family& family, std::string_view name);

/// Reads `<architecture>.*` as llama.cpp's loader does; `file` is the first of the set, `index` its index. V is the
/// length of tokenizer.ggml.tokens, or `<architecture>.vocab_size`, or 0. Errors: "loader-key" names the first required
/// key that is absent, zero or unusable; limits are the loader's (512 layers, 512 experts). Reads arrays of numbers.
Result<Sizes> read_gguf_sizes(const Family& family, const gguf::Index& index, const gguf::SetFile& file);

/// Takes the last `nextn_predict_layers` blocks off the layers, as the loader does for every architecture: sizes are
/// then those of the trunk.
void leave_out_prediction(const Family& family, const gguf::Index& index, Sizes& sizes);

/// What the keys alone say, as far as they are usable: never an error. For choosing a family and for summaries.
Sizes stated_gguf_sizes(const Family& family, const gguf::Index& index);

}  // namespace modelutils::arch
