// Checks for rope settings that no runtime can use.
#pragma once

#include "base/error.h"
#include "base/finding_log.h"
#include "hf/config.h"

namespace modelutils::hf {

/// Adds an error "hf-rope" for every number in `config.rope` and `config.partial_rotary_factor` that is out of range:
/// bases, factors and original contexts must be positive and finite, llama3's two limits in order, and the rotated
/// fraction of a head above 0 and at most 1.
void check_rope(const Config& config, FindingLog& findings);

}  // namespace modelutils::hf
