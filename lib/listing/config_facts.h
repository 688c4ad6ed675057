// What a summary shows of a model directory, by its config.json alone.
#pragma once

#include "hf/config.h"
#include "listing/model_facts.h"

namespace modelutils {

/// Of a known family, what gguf-dump would show of the keys that mlx2gguf would write; of any other, and where
/// config.json does not tell all sizes, the fields that most families have. The architecture is Hugging Face's name.
ModelFacts facts_of(const hf::Config& config);

}  // namespace modelutils
