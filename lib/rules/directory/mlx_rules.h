// The rules for a directory with a config.json, MLX's or Hugging Face's. Findings beyond the container have scope
// model, so st-dump still shows such a directory.
#pragma once

#include <string_view>

#include "base/finding_log.h"
#include "model/safetensors_model.h"
#include "rules/formats.h"

namespace modelutils {

/// Checks config.json, the modules and the tensors against each other: fields, quantisation, layers, heads, vocabulary.
/// Scope model. Reads no files.
FindingLog model_directory_rules(const SafetensorsModel& model);

/// Checks that the tokenizer and the other JSON files beside the weights exist and are readable. Scope model. Reads
/// those files.
FindingLog side_file_rules(const SafetensorsModel& model);

/// The check function for format "mlx" in the table of formats (formats.cc).
Result<CheckedModel> check_model_directory(const Model& opened, unsigned threads = 1);

}  // namespace modelutils
