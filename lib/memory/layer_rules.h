// Determines which layers have a sliding window and which have a recurrent state (docs/memory.md, "Rules").
#pragma once

#include "memory/fact_values.h"
#include "memory/hyper_parameters.h"

namespace modelutils::memory {

/// Fill in the settings from the architecture's facts and what the model states. Heads and sizes must already be set.
/// Errors: those of fact_values.h.
Status read_windows(const arch::Facts& stated, HyperParameters& model);
Status read_recurrence(const arch::Facts& stated, HyperParameters& model);
Status read_indexer(const arch::Facts& stated, HyperParameters& model);

}  // namespace modelutils::memory
