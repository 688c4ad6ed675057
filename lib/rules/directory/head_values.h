// verify --data: compares the output head of a directory that claims tied weights with its embedding.
#pragma once

#include "base/finding_log.h"
#include "model/safetensors_model.h"

namespace modelutils {

/// Compares lm_head with the embedding if config.json sets tie_word_embeddings. Adds the note "hf-tied-head" (scope
/// data) if they differ. Ignores read errors, which the tensor checks report.
void check_tied_head(const SafetensorsModel& model, FindingLog& log);

}  // namespace modelutils
