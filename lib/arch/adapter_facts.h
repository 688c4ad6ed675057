// Which pairs of a LoRA adapter llama.cpp applies. Source: logits of 81 models with a pair on every matrix, compared
// with those of merged files (docs/formats/adapters.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arch/family.h"
#include "arch/names.h"
#include "tensor/types.h"

namespace modelutils::arch {

/// Returns why llama.cpp does not apply a pair on tensor `row` ("attn_q_a") as merging would, as the end of a sentence
/// about the pair, or an empty view if it does. `is_tied`: the model has no separate output head.
std::string_view pair_is_lost(const Family& family, std::string_view row, bool is_tied);

/// The same for a tensor of `type` that has a factor for its values beside it (".scale"). build_lora_mm() multiplies by
/// the factor before adding the pair, build_ffn() after. Source: llama-graph.cpp of September 2026.
std::string_view scaled_pair_is_lost(const Family& family, std::string_view row, TensorType type);
/// True if llama.cpp aborts because of such a pair.
bool scaled_pair_aborts(std::string_view row, TensorType type);

/// Returns the weight that a factor belongs to: "blk.0.ffn_up.weight" for "blk.0.ffn_up.scale". A factor is one number,
/// or one per expert. Returns nullopt for other names, and if the family has a tensor of this name with another meaning
/// (Gemma 4).
std::optional<std::string> weight_of_scale(const Names& names, std::string_view tensor);

}  // namespace modelutils::arch
