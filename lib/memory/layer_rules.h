// Determines which layers have a sliding window and which have a recurrent state (docs/memory.md, "Rules").
#pragma once

#include "memory/hyper_parameters.h"
#include "memory/key_reader.h"

namespace modelutils::memory {

/// Fill in the settings from the architecture's facts and the keys. Heads and sizes must already be set. Errors as for
/// KeyReader.
Status read_windows(const KeyReader& keys, HyperParameters& model);
Status read_recurrence(const KeyReader& keys, HyperParameters& model);
Status read_indexer(const KeyReader& keys, HyperParameters& model);

}  // namespace modelutils::memory
