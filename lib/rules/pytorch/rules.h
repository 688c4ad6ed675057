// The rules for PyTorch checkpoints. Problems show while parsing (formats/pytorch/parse.h); those findings are passed
// on. Source: docs/formats/pytorch.md.
#pragma once

#include "rules/formats.h"

namespace modelutils {

/// The check function for PyTorch in the table of formats (formats.cc). Directories with a config.json use the MLX
/// rules.
Result<CheckedModel> check_pytorch(const Model& model, unsigned threads = 1);

}  // namespace modelutils
