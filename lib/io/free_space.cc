#include "io/free_space.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/path.h"

namespace modelutils {

Status check_free_space(const std::string& path, u64 bytes) {
  struct stat status {};
  if (path.empty() || path == "-") return {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return {};
  std::string folder = path;
  while (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    if (folder == "." || folder == "/") break;
    const std::string above(folder_of(folder));
    folder = above.empty() ? "." : above;
  }
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0 || space.f_blocks == 0) return {};
  const u64 blocks = ::geteuid() == 0 ? space.f_bfree : space.f_bavail;
  // Compare blocks, because their size in bytes may overflow.
  const u64 block = space.f_frsize != 0 ? space.f_frsize : 1;
  if (bytes / block + (bytes % block != 0 ? 1 : 0) <= blocks) return {};
  return output_error("out-space",
                      fmt::format("needs {}, but its file system has {} free: free some space, or write it elsewhere",
                                  byte_text(bytes), byte_text(blocks * block)),
                      path);
}

}  // namespace modelutils
