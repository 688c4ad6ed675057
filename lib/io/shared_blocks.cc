#include "io/shared_blocks.h"

#include <sys/stat.h>

#include "base/system.h"

namespace modelutils {

bool may_share_blocks(const RandomAccessFile& source, const std::string& folder) {
  const std::string place = folder.empty() ? "." : folder;
  struct stat from {
  }, to{};
  if (::fstat(source.descriptor(), &from) != 0 || ::stat(place.c_str(), &to) != 0 || from.st_dev != to.st_dev) {
    return false;
  }
  return system::has_shared_blocks(place);
}

}  // namespace modelutils
