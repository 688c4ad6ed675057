// --drop-layers: whole layers are left out, the others numbered anew.
#pragma once

#include "edit/edited_model.h"

namespace modelutils::edit {

/// Leaves out layers of the trunk (blocks that predict further tokens stay behind it): their tensors, their elements of
/// keys with one for each layer, and their part of the counts. Errors of kind usage and "edit-number": the list; of
/// kind input, "edit-layers": no layer would be left; the family is not known, or its runtime tells layers apart by
/// something that the cut would change (not with `force`).
Status drop_layers(EditedModel& model, const EditOperation& operation, bool force);

/// Is each layer of `after` what llama.cpp took it for in `before`: with a sliding window or without, recurrent or not?
/// `kept`: what number each had. Error of kind input: "edit-layers".
Status check_kept_layers(const gguf::SplitSet& before, const gguf::SplitSet& after, const std::vector<u64>& kept);

}  // namespace modelutils::edit
