// The hyper-parameters that a GGUF file's keys state, with llama.cpp's defaults for those that may be absent.
#pragma once

#include "base/error.h"
#include "gguf/keys.h"
#include "model/architecture.h"

namespace modelutils {

/// Reads `<arch>.*` keys as the loader does. n_vocab is the length of tokenizer.ggml.tokens, or `<arch>.vocab_size`, or
/// 0. Errors: "loader-key" names the first required key that is absent, zero or unusable; limits are the loader's
/// (512 layers, 512 experts).
Result<HyperParameters> hyper_parameters_of(const Architecture& architecture, const gguf::Index& index);

}  // namespace modelutils
