// The tokens to which a model's keys assign a role, with their texts.
#pragma once

#include <vector>

#include "gguf/split_set.h"
#include "listing/model_facts.h"

namespace modelutils {

/// Returns the tokens in the order of token_roles(); skips ids outside the vocabulary. Reads the texts up to the
/// highest id; unreadable texts are empty.
std::vector<NamedToken> named_tokens(const gguf::SplitSet& set);

}  // namespace modelutils
