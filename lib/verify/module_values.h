// verify --data: checks the scales, zero points and column orders of quantised modules in forms other than MLX's.
#pragma once

#include "base/log.h"
#include "model/safetensors_model.h"

namespace modelutils {

/// Reads the scales, zero points, column orders and shapes of every recognised module on `threads` threads, but no
/// codes. Findings at the module, scope data: "hf-module-values" (groups, shapes or factors that contradict the rest),
/// "data-scale" (NVFP4 scales below 0), "data-overflow" (scales that make values infinite), "data-zero-point"; those of
/// reading. NaN and infinite scales are reported as bad values of their tensors (verify/model_checks.h).
void check_module_values(const SafetensorsModel& model, unsigned threads, FindingLog& log);

}  // namespace modelutils
