// What llama.cpp's loader demands beyond the container: the keys it needs, every tensor it expects and no other, their
// shapes and usable types. For files that we write ourselves, and for those that verify takes for whole models; a
// vocabulary, an adapter or a part of a model breaks these rules without being broken.
#pragma once

#include "base/finding_log.h"
#include "gguf/split_set.h"

namespace modelutils {

/// Checks a whole model of an architecture that we know (arch/families.h). Findings of scope model; a warning:
/// "loader-tensor-uneven" (an optional tensor that only some layers have); errors: "loader-architecture", "loader-key",
/// "loader-tensor-missing", "loader-tensor-extra", "loader-tensor-shape", "loader-tensor-type", "loader-vocabulary".
/// `with_vocabulary` is false for files written without a tokenizer.
FindingLog loader_findings(const gguf::SplitSet& set, bool with_vocabulary = true);

/// True if the file is meant to be a whole language model of an architecture that we know: general.type is "model"; or
/// it is absent, and there are three quarters of the tensors that such a model must have, or more than half, both ends
/// and a part of each layer. Not a file without tensors, nor one of blocks that predict further
/// tokens alone.
bool is_whole_model(const gguf::SplitSet& set);

/// The note "loader-exempt" for a file with tensors of a known architecture to which loader_findings() does not apply
/// since it may be a part of a model.
FindingLog exemption_findings(const gguf::SplitSet& set);

/// What the loader of an architecture that no directory is converted to does not ask for: warnings
/// "loader-tensor-extra".
FindingLog runtime_findings(const gguf::SplitSet& set);

}  // namespace modelutils
