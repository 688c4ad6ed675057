// Names of outputs that are not finished: hidden, next to the final name, and saying which process writes them.
#pragma once

#include <sys/types.h>

#include <string>

namespace modelutils {

/// ".NAME.HOST-BOOT-PID-N.tmp" in the folder of `path`: NAME is its base name as far as there is room, HOST and BOOT
/// are eight hexadecimal digits each for this machine (or container) and the time since it was started, PID is this
/// process. Not necessarily free: that O_EXCL says.
std::string temporary_name(const std::string& path, int attempt);

/// Removes what processes that were killed left of outputs called `path`: regular files of `owner` or of this user
/// under a temporary name of this machine, of a process that does not run any more or of an earlier start. The process
/// of another machine may well run, so its files stay, as does what cannot be listed or removed.
void remove_abandoned(const std::string& path, uid_t owner);

}  // namespace modelutils
