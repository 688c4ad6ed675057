#include "io/shared_blocks.h"

#include <sys/stat.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif

namespace modelutils {

bool may_share_blocks([[maybe_unused]] const RandomAccessFile& source, [[maybe_unused]] const std::string& folder) {
#ifdef __linux__
  constexpr long xfs = 0x58465342;
  constexpr long btrfs = 0x9123683E;
  constexpr long bcachefs = static_cast<long>(0xCA451A4E);
  const std::string place = folder.empty() ? "." : folder;
  struct stat from {
  }, to{};
  struct statfs system {};
  if (::fstat(source.descriptor(), &from) != 0 || ::stat(place.c_str(), &to) != 0 || from.st_dev != to.st_dev) {
    return false;
  }
  if (::statfs(place.c_str(), &system) != 0) return false;
  const long type = static_cast<long>(system.f_type);
  return type == xfs || type == btrfs || type == bcachefs;
#else
  return false;
#endif
}

}  // namespace modelutils
