// Detects edits that break a rule which the model satisfied before. They need --force.
#pragma once

#include "base/error.h"
#include "gguf/split_set.h"

namespace modelutils::edit {

/// Returns the findings in `after` that are not in `before`: every error, and warnings about keys that a loader ignores
/// or refuses (an id beyond the vocabulary, an array of the wrong length, a known key of the wrong type, text that is
/// not UTF-8). Also "edit-architecture" if the architectures differ. The findings have no offsets, since the file does
/// not exist yet. `before` may lack its tensors, which are read again if needed; `was_whole` is is_whole_model() of it.
/// Errors: those of reading.
Result<Findings> broken_by_edit(gguf::SplitSet& before, bool was_whole, const gguf::SplitSet& after);

/// forget_tensors() frees the documents' tensor infos; remember_tensors() reads them again. Errors: those of reading.
void forget_tensors(gguf::SplitSet& set);
Status remember_tensors(gguf::SplitSet& set);

/// Parses the planned file: every key and tensor must be read as it was written. Error: "edit-self-check" (a bug).
Status check_read_back(const gguf::SetFile& file, std::string_view header);

}  // namespace modelutils::edit
