// Standard output must be none of the files that are read: a shell's `>>` or `1<>` can make it one.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace modelutils {

/// Remembers what standard output is (once for a process; the tools' main does it, the library alone never). From then
/// on inputs are compared with it.
void guard_standard_output();

/// For tools that write of one path before they open the next: where standard output had content, `open` is called for
/// each of several paths, or for a directory, that can be read twice, so that every input of all of them has been
/// compared. Errors: "out-is-input"; what `open` meets beyond that is not reported.
Status compare_inputs(const std::vector<std::string>& paths, const std::function<void(const std::string&)>& open);

/// For whoever opens an input: error "out-is-input" (kind output) if it is the file that standard output is, which is
/// remembered. `status` of the opened file, `path` as the user gave it.
Status refuse_standard_output(const struct stat& status, const std::string& path);

/// For whoever writes to standard output, before the first byte: the error that an input met, if any.
Status standard_output_is_no_input();

}  // namespace modelutils
