// The future location of an output, before it exists.
#pragma once

#include <string>

#include "base/error.h"

namespace modelutils {

/// Returns the absolute path of the output `path`: existing components are resolved, missing ones appended. Two outputs
/// collide if their places are equal. Returns `path` if it cannot be resolved; opening it will report that.
std::string output_place(const std::string& path);

/// Refuses an output in a download cache, even with --force: files there are named by checksum, and programs take them
/// for the published files. Error: "out-in-cache" (kind output).
Status refuse_output_in_cache(const std::string& path);

}  // namespace modelutils
