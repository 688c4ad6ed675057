// llama.cpp's requirements beyond the container: required keys, the exact set of tensors, shapes and usable types.
// Applied to files that we write and to files that verify considers whole models. Vocabulary files, adapters and parts
// of models violate these rules without being broken.
#pragma once

#include "base/log.h"
#include "formats/gguf/split_set.h"

namespace modelutils {

/// Checks a whole model of a known architecture (arch/families.h). Findings of scope model. Warning:
/// "loader-tensor-uneven" (an optional tensor that only some layers have). Errors: "loader-architecture", "loader-key",
/// "loader-tensor-missing", "loader-tensor-extra", "loader-tensor-shape", "loader-tensor-type", "loader-vocabulary".
/// `with_vocabulary` is false for files written without a tokenizer.
FindingLog loader_findings(const gguf::SplitSet& set, bool with_vocabulary = true);

/// True if the file is meant to be a whole language model of a known architecture. Either general.type is "model", or
/// it is absent and the file has three quarters of the required tensors, or more than half of them including everything
/// outside the layers and part of each layer. False for files without tensors and for files with only prediction
/// blocks.
bool is_whole_model(const gguf::SplitSet& set);

/// Returns the note "loader-exempt" for a file with tensors of a known architecture that may be part of a model, so
/// that loader_findings() does not apply.
FindingLog exemption_findings(const gguf::SplitSet& set);

/// Checks a model of an architecture that only llama.cpp knows, since no directory converts to it. Warns about tensors
/// that its loader does not ask for ("loader-tensor-extra").
FindingLog runtime_findings(const gguf::SplitSet& set);

}  // namespace modelutils
