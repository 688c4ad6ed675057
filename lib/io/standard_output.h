// Ensures that standard output is not one of the input files, which a shell's `>>` or `1<>` can cause.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace modelutils {

/// Records the file behind standard output. Call once per process; the tools' main does, the library alone never. Later
/// inputs are compared with it.
void guard_standard_output();

/// For tools that write about one path before opening the next. If standard output is a file with content and there are
/// several paths or a directory, calls `open` for each path that can be read twice, so that all inputs are compared
/// before anything is written. Error: "out-is-input"; other errors of `open` are not reported.
Status compare_inputs(const std::vector<std::string>& paths, const std::function<void(const std::string&)>& open);

/// Returns "out-is-input" (kind output) if the opened input is the file behind standard output, and records that error.
/// `status` is the status of the opened file, `path` its path as the user gave it.
Status refuse_standard_output(const struct stat& status, const std::string& path);

/// Call before the first write to standard output. Returns the error that an input caused, if any.
Status standard_output_is_no_input();

}  // namespace modelutils
