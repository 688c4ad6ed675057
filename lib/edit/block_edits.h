// Edits of whole blocks: layers and experts that are left out, prediction blocks that are taken out of a model or put
// into one.
#pragma once

#include "edit/edited_model.h"

namespace modelutils::edit {

/// --drop-layers: leaves out layers of the trunk (blocks that predict further tokens stay behind it): their tensors,
/// their elements of keys with one for each layer, and their part of the counts. Errors of kind usage and
/// "edit-number": the list; of kind input, "edit-layers": no layer would be left; the family is not known, or its
/// runtime tells layers apart by something that the cut would change (not with `force`).
Status drop_layers(EditedModel& model, const EditOperation& operation, bool force);

/// Is each layer of `after` what llama.cpp took it for in `before`: with a sliding window or without, recurrent or not?
/// `kept`: what number each had. Error of kind input: "edit-layers".
Status check_kept_layers(const gguf::SplitSet& before, const gguf::SplitSet& after, const std::vector<u64>& kept);

/// --keep-experts: keeps the experts of a list ("0-31,40"), or those that the lines of a file name ("LAYER: LIST" for
/// each layer, or one list for all): blocks of matrices, biases and factors are taken as they are. Errors of kind usage
/// and "edit-number": the lists; "edit-experts": the model has no experts; the family or a tensor is not known; layers
/// would have different numbers; fewer would be left than a token passes; and, unless `force`, weights of those that
/// stay would change even where no expert that goes was chosen.
Status keep_experts(EditedModel& model, const EditOperation& operation, bool force);

/// --extract-mtp: keeps the blocks that predict further tokens and all tensors outside blocks (embedding, output),
/// which a runtime loads with them; every key stays, and arch::extracted_key is added. Error of kind input:
/// "edit-mtp-absent".
Status extract_prediction(EditedModel& model, const EditOperation& operation);

/// --graft-mtp: adds the blocks of another file: ARCH.block_count and ARCH.nextn_predict_layers become that file's, and
/// arrays with an element for each layer get its last elements. Errors of kind input: "edit-mtp-absent" (the other file
/// has no such block), "edit-mtp-there" (the model has one), "edit-mtp-other" (architecture, width, vocabulary, number
/// of layers or a per-layer array do not go together), "io-not-regular"; those of open_set() and read_edited_model().
Status graft_prediction(EditedModel& model, const EditOperation& operation);

}  // namespace modelutils::edit
