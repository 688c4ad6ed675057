// Rules for parts of a model: prediction blocks that are missing or alone, and llama.cpp's requirements for projector
// files (GGUF of architecture "clip").
#pragma once

#include <optional>

#include "base/log.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"

namespace modelutils {

// Checks files that lack the prediction blocks that their keys count, or that have nothing else.

/// True if the keys count blocks that predict further tokens, and exactly those blocks have no tensors. `blocks` is 1 +
/// the highest N of the tensors "blk.N.…".
bool lacks_prediction(const gguf::Index& index, std::optional<u64> blocks);

/// Returns "gguf-prediction-absent" (a note if llama.cpp loads such a file, an error if it refuses it) or the warning
/// "gguf-prediction-alone" if the file has only blocks that predict further tokens.
FindingLog prediction_findings(const gguf::SplitSet& set);

// llama.cpp's requirements for projector files (GGUF of architecture "clip"), like loader_rules.h for models.

/// Checks the encoders of a projector file (arch/projectors.h). Only checks an encoder if at least three quarters of
/// its tensors are present, because test files and partial models lack most of them legitimately. Returns no findings
/// for other architectures. Findings of scope model. Errors: "loader-key", "loader-tensor-missing",
/// "loader-tensor-shape". Warning: "loader-tensor-uneven". Note: "gguf-projector" (an unknown projector type).
FindingLog projector_findings(const gguf::SplitSet& set);

}  // namespace modelutils
