// Names of outputs that are not finished: hidden, next to the final name, and saying which process writes them.
#pragma once

#include <sys/types.h>

#include <string>

namespace modelutils {

/// ".NAME.PID-N.tmp" in the folder of `path`, NAME being its base name as far as there is room, PID this process. Not
/// necessarily free: that O_EXCL says.
std::string temporary_name(const std::string& path, int attempt);

/// Removes what processes that were killed left of outputs called `path`: regular files of `owner` or of this user,
/// under a temporary name of a process that does not run any more. What cannot be listed or removed stays.
void remove_abandoned(const std::string& path, uid_t owner);

}  // namespace modelutils
