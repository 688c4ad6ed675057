// Rope settings with which no runtime can compute.
#pragma once

#include "base/error.h"
#include "base/finding_log.h"
#include "hf/config.h"

namespace modelutils::hf {

/// Adds an error "hf-rope" for every number of `config.rope` and `config.partial_rotary_factor` that is out of its
/// range: bases, factors and original contexts are positive and finite, the two limits of llama3 are in order, the
/// rotated part of a head is more than nothing and at most the whole.
void check_rope(const Config& config, FindingLog& findings);

}  // namespace modelutils::hf
