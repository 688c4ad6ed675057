// Which pairs of a LoRA adapter llama.cpp applies. Source: every matrix of 81 models got a pair, and the logits were
// compared with those of a merged file (docs/formats/adapters.md).
#pragma once

#include <string_view>

#include "arch/family.h"

namespace modelutils::arch {

/// What becomes of a pair on the tensor `row` ("attn_q_a") of a model: empty if llama.cpp applies it as merging would,
/// otherwise the reason why it does not, as the end of a sentence about the pair. `is_tied`: the model has no output
/// head of its own.
std::string_view pair_is_lost(const Family& family, std::string_view row, bool is_tied);

}  // namespace modelutils::arch
