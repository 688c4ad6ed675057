// Where an output will be, before it exists.
#pragma once

#include <string>

#include "base/error.h"

namespace modelutils {

/// The absolute path under which the output `path` will lie: links and dots of what is there are resolved, what is not
/// there yet is added. Two outputs collide if their places are equal. `path` itself where it cannot be resolved, which
/// opening it will report.
std::string output_place(const std::string& path);

/// Refuses an output in a cache of downloads, whatever is forced: a file's name is its checksum there, and programs
/// take what they find for what was published. Error "out-in-cache" (kind output).
Status refuse_output_in_cache(const std::string& path);

}  // namespace modelutils
