// What llama.cpp's loader demands beyond the container: the keys it needs, every tensor it expects and no other, their
// shapes and usable types. For files that we write ourselves, and for verify --against; a vocabulary or a part of a
// model is no complete model and breaks these rules without being broken.
#pragma once

#include "base/error.h"
#include "gguf/split_set.h"

namespace modelutils {

/// Checks a whole model of an architecture that we know (arch/families.h). Findings of scope model and severity
/// error: "loader-architecture", "loader-key", "loader-tensor-missing", "loader-tensor-extra", "loader-tensor-shape",
/// "loader-tensor-type", "loader-vocabulary". `with_vocabulary` is false for files written without a tokenizer.
Findings loader_findings(const gguf::SplitSet& set, bool with_vocabulary = true);

}  // namespace modelutils
