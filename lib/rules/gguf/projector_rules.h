// What llama.cpp demands of a projector file (GGUF of architecture "clip"), as loader_rules.h does for models.
#pragma once

#include "base/finding_log.h"
#include "gguf/split_set.h"

namespace modelutils {

/// Checks the encoders of a projector file (arch/projectors.h) of which at least three quarters of the tensors are
/// there: tests and parts of models lack most of them and are sound files. Nothing for other architectures.
/// Findings of scope model; errors: "loader-key", "loader-tensor-missing", "loader-tensor-shape"; a warning:
/// "loader-tensor-uneven"; a note: "gguf-projector" (a type that is not known here).
FindingLog projector_findings(const gguf::SplitSet& set);

}  // namespace modelutils
