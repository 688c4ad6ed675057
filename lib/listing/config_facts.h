// The summary of a model directory, from its config.json alone.
#pragma once

#include "hf/config.h"
#include "listing/model_facts.h"

namespace modelutils {

/// For a known family, returns the facts that gguf-dump would show for the keys mlx2gguf writes. For any other family,
/// or if config.json lacks sizes, returns the fields that most families have. The architecture is Hugging Face's name.
ModelFacts facts_of(const hf::Config& config);

}  // namespace modelutils
