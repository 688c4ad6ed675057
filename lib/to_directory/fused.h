// Tensors of a GGUF that directories have in several.
#pragma once

#include "gguf/split_set.h"

namespace modelutils::to_directory {

/// Makes each part of a fused tensor ("attn_qkv.weight") a tensor of its own of the same bytes, as its family's rows
/// have it; a factor for all of it is one for each part. Only of a file that the rules have nothing against. Was there
/// any? Then an index or a catalog of the set is made anew.
bool take_fused_apart(gguf::SplitSet& set);

}  // namespace modelutils::to_directory
