// The rules for a directory with a config.json, MLX's or Hugging Face's. Findings beyond the container have scope
// model, so st-dump still shows such a directory.
#pragma once

#include <string>
#include <string_view>

#include "base/log.h"
#include "model/safetensors_model.h"
#include "rules/formats.h"

namespace modelutils::mlx_rules {

// The parts of the rules for model directories. Other code calls model_directory_rules().

/// Returns the token embedding, or nullptr if there is none, as in partial or toy models. For those, missing parts are
/// only notes.
const Module* embedding_of(const SafetensorsModel& model);

/// Checks for fields of config.json that loaders require.
void check_fields(const SafetensorsModel& model, FindingLog& log);

/// Tells mlx-lm's layout from the published one, for families where the values depend on it. Findings:
/// "hf-layout-mixed" (an error), "hf-layout-metadata" (a note: the metadata contradict the tensors).
void check_layout(const SafetensorsModel& model, FindingLog& log);

/// Checks config.json's layers, widths, heads and vocabulary against the tensors, for known architectures.
void check_geometry(const SafetensorsModel& model, FindingLog& log);

}  // namespace modelutils::mlx_rules

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
