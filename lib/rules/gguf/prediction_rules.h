// Checks files that lack the prediction blocks that their keys count, or that have nothing else.
#pragma once

#include <optional>

#include "base/finding_log.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"

namespace modelutils {

/// True if the keys count blocks that predict further tokens, and exactly those blocks have no tensors. `blocks` is 1 +
/// the highest N of the tensors "blk.N.…".
bool lacks_prediction(const gguf::Index& index, std::optional<u64> blocks);

/// Returns "gguf-prediction-absent" (a note if llama.cpp loads such a file, an error if it refuses it) or the warning
/// "gguf-prediction-alone" if the file has only blocks that predict further tokens.
FindingLog prediction_findings(const gguf::SplitSet& set);

}  // namespace modelutils
