// Which layers slide, and which keep a state (docs/memory.md, "Rules").
#pragma once

#include "memory/hyper_parameters.h"
#include "memory/key_reader.h"

namespace modelutils::memory {

/// Fill in what the facts of the architecture and the keys say. Heads and sizes must be there. Errors as KeyReader.
Status read_windows(const KeyReader& keys, HyperParameters& model);
Status read_recurrence(const KeyReader& keys, HyperParameters& model);
Status read_indexer(const KeyReader& keys, HyperParameters& model);

}  // namespace modelutils::memory
