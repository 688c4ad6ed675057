// Lists of layers or experts as users write them: "0-31,40".
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::edit {

/// Returns the numbers of a list such as "0-31,40", sorted and without repeats. Errors of kind usage: not a list, or a
/// descending range. Error of kind input: "edit-number" if a number is not below `end`.
Result<std::vector<u64>> parse_number_list(std::string_view text, u64 end, std::string_view what,
                                           const std::string& operation);

/// True if the text consists only of characters that such lists contain.
bool looks_like_number_list(std::string_view text);

}  // namespace modelutils::edit
