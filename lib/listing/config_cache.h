// What llama.cpp would keep for a token of a model directory, by its config.json alone.
#pragma once

#include <optional>

#include "hf/config.h"
#include "memory/cache_summary.h"

namespace modelutils {

/// Of the keys that mlx2gguf would write. Nothing where the model's family is not known, or config.json does not tell
/// all sizes.
std::optional<memory::CacheSummary> cache_summary(const hf::Config& config);

}  // namespace modelutils
