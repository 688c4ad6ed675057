// merges.txt of GPT-2-like tokenizers.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/vocabulary.h"

namespace modelutils::tokenizer {

/// One merge for each line, "left right" between blanks; a first line that begins with '#' and empty lines are passed
/// over. The views point into `text`. Error "hf-tok-merge" with the line's number.
Result<std::vector<Merge>> parse_merges_text(std::string_view text);

}  // namespace modelutils::tokenizer
