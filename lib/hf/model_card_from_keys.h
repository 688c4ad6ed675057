// Converts the general.* keys of a GGUF into a model card.
#pragma once

#include "base/error.h"
#include "gguf/split_set.h"
#include "hf/model_card.h"

namespace modelutils::hf {

/// Takes only non-empty UTF-8 strings. Base models and datasets are "organisation/name" if the keys or an address on
/// huggingface.co give both, otherwise a name or an address. The pipeline tag is taken from the tags. Errors: those of
/// reading arrays.
Result<ModelCard> card_from_keys(const gguf::SplitSet& set);

}  // namespace modelutils::hf
