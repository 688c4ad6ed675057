// Files that share their content with others, and reading that does not count as use. As in base/os/files.h, failing
// functions return false or nullopt and set errno.
#pragma once

#include <optional>
#include <string>

#include "base/os/integers.h"

namespace modelutils::os {

/// When the target of `path` was last read, in nanoseconds since 1970. File systems differ in how exactly they keep it.
std::optional<i64> access_time(const std::string& path);

/// Files and folders opened for reading from now on keep their access times, so that examining them does not count as
/// use. Linux: works for files of this user, and for all if it is root. macOS: for all files. Call it before starting
/// threads. (Elsewhere it does nothing.)
void keep_access_times();

/// Creates a symbolic link whose text is `target`. Fails with EEXIST if the name is taken.
bool symbolic_link(const std::string& target, const std::string& name);

/// Creates a file of this user that shares all blocks of `existing` (a reflink); they are copied when one of the two
/// files changes. macOS: with the mode, the attributes and the times of `existing`. Fails with EEXIST if the name is
/// taken, with EOPNOTSUPP or another code if the file system has no such files, and leaves no file behind then. (Not on
/// Windows.)
bool clone(const std::string& existing, const std::string& name);

}  // namespace modelutils::os
