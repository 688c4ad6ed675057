// renameat2, where the system has it.
#pragma once

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <string>

namespace modelutils {

enum class RenameMode : unsigned {
#ifdef RENAME_EXCHANGE
  no_replace = RENAME_NOREPLACE,
  exchange = RENAME_EXCHANGE,
#else
  no_replace = 1,
  exchange = 2,
#endif
};

/// False with errno where it fails; rename_is_unsupported() then says whether the system or the file system cannot.
inline bool rename_with(RenameMode mode, const std::string& from, const std::string& to) {
#ifdef RENAME_EXCHANGE
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), static_cast<unsigned>(mode)) == 0;
#else
  errno = ENOSYS;
  return false;
#endif
}

inline bool rename_is_unsupported() {
  return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
}

}  // namespace modelutils
