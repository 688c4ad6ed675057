// Reads text files named by flags.
#pragma once

#include <limits>
#include <string>

#include "base/error.h"

namespace modelutils::cli {

/// Reads a file, or standard input for "-". Stops a little above `most` bytes, so that the caller can detect the
/// excess. Errors: those of reading.
Result<std::string> read_text(const std::string& path, std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace modelutils::cli
