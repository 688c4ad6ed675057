// Which pairs of a LoRA adapter llama.cpp applies. Source: every matrix of 81 models got a pair, and the logits were
// compared with those of a merged file (docs/formats/adapters.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arch/family.h"
#include "arch/names.h"
#include "tensor/types.h"

namespace modelutils::arch {

/// What becomes of a pair on the tensor `row` ("attn_q_a") of a model: empty if llama.cpp applies it as merging would,
/// otherwise the reason why it does not, as the end of a sentence about the pair. `is_tied`: the model has no output
/// head of its own.
std::string_view pair_is_lost(const Family& family, std::string_view row, bool is_tied);

/// The same of a tensor of `type` that has a factor of its values next to it (".scale"): source is llama-graph.cpp of
/// September 2026. build_lora_mm() multiplies first and adds the pair then, build_ffn() the other way round.
std::string_view scaled_pair_is_lost(const Family& family, std::string_view row, TensorType type);
/// Does it abort because of such a pair?
bool scaled_pair_aborts(std::string_view row, TensorType type);

/// "blk.0.ffn_up.weight" for "blk.0.ffn_up.scale", the factor of its values: one number, or one for each expert.
/// Nothing for other names, and where the family has a tensor of this name, which is then no part of the weight (Gemma
/// 4).
std::optional<std::string> weight_of_scale(const Names& names, std::string_view tensor);

}  // namespace modelutils::arch
