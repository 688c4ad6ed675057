// --keep-experts: some experts of every layer are left out, and the router's rows with them.
#pragma once

#include "edit/edited_model.h"

namespace modelutils::edit {

/// Keeps the experts of a list ("0-31,40"), or those that the lines of a file name ("LAYER: LIST" for each layer, or
/// one list for all): blocks of matrices, biases and factors are taken as they are. Errors of kind usage and
/// "edit-number": the lists; "edit-experts": the model has no experts; the family or a tensor is not known; layers
/// would have different numbers; fewer would be left than a token passes; and, unless `force`, weights of those that
/// stay would change even where no expert that goes was chosen.
Status keep_experts(EditedModel& model, const EditOperation& operation, bool force);

}  // namespace modelutils::edit
