// Texts that flags name.
#pragma once

#include <limits>
#include <string>

#include "base/error.h"

namespace modelutils::cli {

/// What a file holds, or standard input ("-"). More than `most` bytes are cut off a little above that: the caller sees
/// that there are too many. Errors: those of reading.
Result<std::string> read_text(const std::string& path, std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace modelutils::cli
