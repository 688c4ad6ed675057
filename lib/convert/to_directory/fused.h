// Splits GGUF tensors that directories store as several.
#pragma once

#include "formats/gguf/split_set.h"

namespace modelutils::to_directory {

/// Splits each fused tensor ("attn_qkv.weight", "ffn_gate_up_exps.weight") into its parts as the family's rows define
/// them; each part gets a copy of the tensor's factor. The parts use the same bytes; rows that are not contiguous are
/// appended to the file's source. The set must have passed the rules. Returns true if anything was split; the caller
/// must then rebuild indexes and catalogs of the set.
bool take_fused_apart(gguf::SplitSet& set);

}  // namespace modelutils::to_directory
