#include "io/sync_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"

namespace modelutils {

Status sync_folder_of(const std::string& path) {
  const std::string name = folder_of(path);
  const int folder = ::open(name.empty() ? "." : name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder can be writable but not readable; it cannot be synced then.
  if (folder < 0 && errno == EACCES) return {};
  const bool is_synced =
      folder >= 0 && (::fsync(folder) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP);
  const int reason = errno;
  if (folder >= 0) ::close(folder);
  if (!is_synced) return output_error("out-sync", "its folder cannot be synced: " + errno_text(reason), path);
  return {};
}

}  // namespace modelutils
