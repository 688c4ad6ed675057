// How each tensor of a directory is carried into GGUF: which type, whether exactly, and the encoding of its rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "convert/conversion_report.h"
#include "convert/mlx_repack.h"
#include "model/hf_model.h"
#include "model/hf_rows.h"
#include "model/hf_tensor_map.h"

namespace modelutils::convert {

struct RecipeOptions {
  TensorType fallback = TensorType::Q8_0;  ///< for what has no exact block type: Q8_0, F16, BF16 or F32
  bool exact = false;                      ///< refuse what is not carried bit for bit
  bool compat = false;                     ///< avoid types that older runtimes lack
};
