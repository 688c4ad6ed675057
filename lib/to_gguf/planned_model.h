// What mlx2gguf would write, as a model: headers without data, for what can be said of them.
#pragma once

#include <string>

#include "base/error.h"
#include "gguf/split_set.h"

namespace modelutils::to_gguf {

/// The GGUF that mlx2gguf makes of a directory without options, except that it has no tokenizer: keys and tensors, no
/// data. Errors: those of plan_gguf().
Result<gguf::SplitSet> planned_model(const std::string& directory);

}  // namespace modelutils::to_gguf
