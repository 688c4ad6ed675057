// Edits of whole blocks: dropping layers or experts, listed as "0-31,40", and extracting or adding prediction blocks.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "edit/edited_model.h"

namespace modelutils::edit {

/// --drop-layers: removes layers of the trunk: their tensors, their elements of per-layer keys, and their share of the
/// counts. Blocks that predict further tokens stay after the trunk. Errors of kind usage and "edit-number": the list.
/// Error of kind input, "edit-layers": no layer would remain; or (not with `force`) the family is unknown, or llama.cpp
/// distinguishes its layers by something that the cut would change.
Status drop_layers(EditedModel& model, const EditOperation& operation, bool force);

/// Checks that llama.cpp treats each layer of `after` as in `before`: with or without a sliding window, recurrent or
/// not. `kept` holds each layer's old number. Error of kind input: "edit-layers".
Status check_kept_layers(const gguf::SplitSet& before, const gguf::SplitSet& after, const std::vector<u64>& kept);

/// --keep-experts: keeps the experts in a list ("0-31,40"), or in the lists of a file ("LAYER: LIST" per layer, or one
/// list for all). Their matrices, biases and factors are copied unchanged. Errors of kind usage and "edit-number": the
/// lists. Error "edit-experts": the model has no experts; the family or a tensor is unknown; layers would have
/// different counts; fewer would remain than a token uses; or, without `force`, the remaining experts' weights would
/// change even for tokens that chose none of the dropped ones.
Status keep_experts(EditedModel& model, const EditOperation& operation, bool force);

/// --extract-mtp: keeps the blocks that predict further tokens and all tensors outside blocks (embedding, output),
/// which llama.cpp needs with them. Keeps every key and adds arch::extracted_key. Error of kind input:
/// "edit-mtp-absent".
Status extract_prediction(EditedModel& model, const EditOperation& operation);

/// --graft-mtp: adds the prediction blocks of another file. Takes ARCH.block_count and ARCH.nextn_predict_layers from
/// it, and its last elements of per-layer arrays. Errors of kind input: "edit-mtp-absent" (the other file has no such
/// block), "edit-mtp-there" (the model already has one), "edit-mtp-other" (architecture, width, vocabulary, layer count
/// or a per-layer array do not match), "io-not-regular"; those of open_set() and read_edited_model().
Status graft_prediction(EditedModel& model, const EditOperation& operation);

// Lists of layers or experts as users write them: "0-31,40".

/// Returns the numbers of a list such as "0-31,40", sorted and without repeats. Errors of kind usage: not a list, or a
/// descending range. Error of kind input: "edit-number" if a number is not below `end`.
Result<std::vector<u64>> parse_number_list(std::string_view text, u64 end, std::string_view what,
                                           const std::string& operation);

/// True if the text consists only of characters that such lists contain.
bool looks_like_number_list(std::string_view text);

}  // namespace modelutils::edit
