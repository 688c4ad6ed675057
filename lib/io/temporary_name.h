// Names of unfinished outputs: hidden, next to the final name, and identifying the process that writes them.
#pragma once

#include <sys/types.h>

#include <string>

namespace modelutils {

/// Returns ".NAME.HOST-BOOT-PID-N.tmp" in the folder of `path`. NAME is the base name, cut if too long; HOST and BOOT
/// are eight hexadecimal digits for this machine or container and for its boot; PID is this process; N is `attempt`.
/// The name may be taken already, so create the file with O_EXCL.
std::string temporary_name(const std::string& path, int attempt);

/// Removes temporary files that killed processes left behind for outputs named `path`: regular files of `owner` or this
/// user, with a temporary name from this machine, whose process has ended or belongs to an earlier boot. Files from
/// other machines remain, as their process may still run. Files that cannot be listed or removed are skipped.
void remove_abandoned(const std::string& path, uid_t owner);

}  // namespace modelutils
