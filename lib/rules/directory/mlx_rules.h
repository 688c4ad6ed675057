// The rules for a directory with a config.json: MLX's or Hugging Face's. What they say beyond the container is of scope
// model, so st-dump shows such a directory and goes on.
#pragma once

#include <string_view>

#include "base/finding_log.h"
#include "model/safetensors_model.h"
#include "rules/formats.h"

namespace modelutils {

/// What config.json, the modules and the tensors say against each other: fields, quantisation, layers, heads,
/// vocabulary. Scope model. Reads nothing.
FindingLog model_directory_rules(const SafetensorsModel& model);

/// The tokenizer and the other JSON files beside the weights: there, and readable. Scope model. Reads those files.
FindingLog side_file_rules(const SafetensorsModel& model);

/// The row of the table of formats (formats.cc), format "mlx".
Result<CheckedModel> check_model_directory(const Model& opened, unsigned threads = 1);

}  // namespace modelutils
