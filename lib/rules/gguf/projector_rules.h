// llama.cpp's requirements for projector files (GGUF of architecture "clip"), like loader_rules.h for models.
#pragma once

#include "base/finding_log.h"
#include "gguf/split_set.h"

namespace modelutils {

/// Checks the encoders of a projector file (arch/projectors.h). Only checks an encoder if at least three quarters of
/// its tensors are present, because test files and partial models lack most of them legitimately. Returns no findings
/// for other architectures. Findings of scope model. Errors: "loader-key", "loader-tensor-missing",
/// "loader-tensor-shape". Warning: "loader-tensor-uneven". Note: "gguf-projector" (an unknown projector type).
FindingLog projector_findings(const gguf::SplitSet& set);

}  // namespace modelutils
