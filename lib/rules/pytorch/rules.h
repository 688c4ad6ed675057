// The rules for PyTorch checkpoints. What is wrong with one shows when it is read (pytorch/parse.h); those findings are
// handed on. Source: docs/formats/pytorch.md.
#pragma once

#include "rules/formats.h"

namespace modelutils {

/// The row of the table of formats (formats.cc). Directories with a config.json are the MLX rules' business.
Result<CheckedModel> check_pytorch(const Model& model, unsigned threads = 1);

}  // namespace modelutils
