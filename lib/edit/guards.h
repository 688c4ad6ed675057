// What an edit must not do unless it is forced: break a rule that the model kept.
#pragma once

#include "base/error.h"
#include "gguf/split_set.h"

namespace modelutils::edit {

/// What the rules find in `after` and not in `before`: every error, and the warnings that say that a loader ignores or
/// refuses a key (an id beyond the vocabulary, arrays of another length than it, a known key of a wrong type, text that
/// is not UTF-8). Also "edit-architecture", if the two have different ones. Offsets are left out: they mean a file that
/// does not exist. `before` may lack its tensors, which are read again where they are needed; `was_whole`:
/// is_whole_model() of it. Errors: reading.
Result<Findings> broken_by_edit(gguf::SplitSet& before, bool was_whole, const gguf::SplitSet& after);

/// Takes the infos of the tensors out of the documents, and puts them back as the files have them. Errors: reading.
void forget_tensors(gguf::SplitSet& set);
Status remember_tensors(gguf::SplitSet& set);

/// The file as it is planned, read back: every key and tensor must come out as it went in. Error
/// "edit-self-check" (a bug).
Status check_read_back(const gguf::SetFile& file, std::string_view header);

}  // namespace modelutils::edit
