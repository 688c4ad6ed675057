// verify --data: the output head of a directory that says that its embedding serves.
#pragma once

#include "base/finding_log.h"
#include "model/safetensors_model.h"

namespace modelutils {

/// Compares lm_head with the embedding where config.json says tie_word_embeddings. Finding, scope data: the note
/// "hf-tied-head" if they differ. Errors of reading are left to the checks of the tensors.
void check_tied_head(const SafetensorsModel& model, FindingLog& log);

}  // namespace modelutils
