// The parts of the rules for model directories (mlx_rules.h).
#pragma once

#include <string>
#include <string_view>

#include "base/finding_log.h"
#include "model/safetensors_model.h"

namespace modelutils::mlx_rules {

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
