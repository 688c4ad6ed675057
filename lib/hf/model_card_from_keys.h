// What the general.* keys of a GGUF say that a model card says in a directory.
#pragma once

#include "base/error.h"
#include "gguf/split_set.h"
#include "hf/model_card.h"

namespace modelutils::hf {

/// Only texts that are not empty and UTF-8. Base models and datasets are "organisation/name" where a key says it or an
/// address on huggingface.co tells, else a name or an address; what the model is for is the first tag that says it.
/// Errors: those of reading arrays.
Result<ModelCard> card_from_keys(const gguf::SplitSet& set);

}  // namespace modelutils::hf
