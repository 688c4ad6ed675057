// Lists of layers or experts as people write them: "0-31,40".
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::edit {

/// The numbers of "0-31,40", in rising order, each once. `end`: what they must be below. Errors of kind usage: no list,
/// a range that runs backwards; of kind input, "edit-number": a number that is not below `end`.
Result<std::vector<u64>> parse_number_list(std::string_view text, u64 end, std::string_view what,
                                           const std::string& operation);

/// Does the text consist of what such lists are made of?
bool looks_like_number_list(std::string_view text);

}  // namespace modelutils::edit
