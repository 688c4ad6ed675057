// Tensors of a GGUF that directories have in several.
#pragma once

#include "gguf/split_set.h"

namespace modelutils::to_directory {

/// Makes each part of a fused tensor ("attn_qkv.weight", "ffn_gate_up_exps.weight") a tensor of its own of the same
/// bytes, as its family's rows have it; a factor for all of it is one for each part. Where a part's rows do not follow
/// each other in the file, the file's source gets them behind its end. Only of a file that the rules have nothing
/// against. True if there was any: then an index or a catalog of the set is made anew.
bool take_fused_apart(gguf::SplitSet& set);

}  // namespace modelutils::to_directory
