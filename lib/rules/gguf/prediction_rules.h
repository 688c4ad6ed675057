// Blocks that predict further tokens, which the keys count: a file may lack them, or have nothing else.
#pragma once

#include <optional>

#include "base/finding_log.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"

namespace modelutils {

/// True if the keys count blocks that predict further tokens, and the tensors have all blocks but those. `blocks`: 1 +
/// the highest N of the tensors "blk.N.…".
bool lacks_prediction(const gguf::Index& index, std::optional<u64> blocks);

/// "gguf-prediction-absent": a note where llama.cpp loads such a file, an error where it refuses it.
/// "gguf-prediction-alone", a warning: the file has only blocks that predict further tokens.
FindingLog prediction_findings(const gguf::SplitSet& set);

}  // namespace modelutils
