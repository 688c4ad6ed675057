// The tokens that a model's keys give a role, with their texts.
#pragma once

#include <vector>

#include "gguf/split_set.h"
#include "listing/model_facts.h"

namespace modelutils {

/// In the order of token_roles(); ids that the vocabulary does not have are left out. Reads the texts up to the highest
/// of them; what cannot be read has none.
std::vector<NamedToken> named_tokens(const gguf::SplitSet& set);

}  // namespace modelutils
