// What an edit changes of a GGUF model, for people.
#pragma once

#include <string>

#include "gguf/split_set.h"

namespace modelutils {

/// A section each for the file, its keys and its tensors, silent where nothing changes: lines that begin with +
/// (added),
/// - (removed) or ~ (changed, OLD → NEW). Escaped. Errors: those of reading.
Result<std::string> edit_changes_text(const gguf::SplitSet& before, const gguf::SplitSet& after);

}  // namespace modelutils
