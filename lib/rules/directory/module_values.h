// verify --data: what the small tensors of quantised modules say of each other, in the forms that are not MLX's.
#pragma once

#include "base/finding_log.h"
#include "model/safetensors_model.h"

namespace modelutils {

/// Reads scales, zero points, orders of columns and shapes of every module that was recognised, on `threads` threads;
/// codes are not read. Findings at the module, scope data: "hf-module-values" (groups, shapes or factors that
/// contradict the rest), "data-scale" (NVFP4 scales below 0), "data-overflow" (scales that make values infinite),
/// "data-zero-point"; those of reading. NaN and infinite scales are bad values of their tensors (verify/data_check.h).
void check_module_values(const SafetensorsModel& model, unsigned threads, FindingLog& log);

}  // namespace modelutils
