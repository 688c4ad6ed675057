// --extract-mtp and --graft-mtp: the blocks that predict further tokens, taken out of a model and put into one.
#pragma once

#include "edit/edited_model.h"

namespace modelutils::edit {

/// Keeps the blocks that predict further tokens and all tensors outside blocks (embedding, output), which a runtime
/// loads with them; every key stays, and arch::extracted_key is added. Error of kind input: "edit-mtp-absent".
Status extract_prediction(EditedModel& model, const EditOperation& operation);

/// Adds the blocks of another file: ARCH.block_count and ARCH.nextn_predict_layers become that file's, and arrays with
/// an element for each layer get its last elements. Errors of kind input: "edit-mtp-absent" (the other file has no such
/// block), "edit-mtp-there" (the model has one), "edit-mtp-other" (architecture, width, vocabulary, number of layers or
/// a per-layer array do not go together), "io-not-regular"; those of open_set() and edited_model().
Status graft_prediction(EditedModel& model, const EditOperation& operation);

}  // namespace modelutils::edit
