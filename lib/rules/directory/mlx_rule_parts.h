// The pieces of the rules for model directories (mlx_rules.h).
#pragma once

#include <string>
#include <string_view>

#include "base/finding_log.h"
#include "model/safetensors_model.h"

namespace modelutils::mlx_rules {

/// The embedding of the tokens; nullptr if there is none: a part of a model or a toy. Only in a whole language model is
/// what is missing worth more than a note.
const Module* embedding_of(const SafetensorsModel& model);

/// Fields of config.json that a loader cannot do without.
void check_fields(const SafetensorsModel& model, FindingLog& log);

/// mlx-lm's layout or the published one, where the values depend on it. Findings: "hf-layout-mixed" (an error),
/// "hf-layout-metadata" (a note: the metadata say otherwise).
void check_layout(const SafetensorsModel& model, FindingLog& log);

/// Layers, widths, heads and vocabulary of config.json against the tensors, for the architectures that we know.
void check_geometry(const SafetensorsModel& model, FindingLog& log);

}  // namespace modelutils::mlx_rules
