#include "io/new_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace modelutils {

NewFolder::~NewFolder() {
  if (!path_.empty()) ::rmdir(path_.c_str());
}

Status NewFolder::create(const std::string& path) {
  const SignalHold hold;
  if (::mkdir(path.c_str(), 0777) != 0) {
    if (errno == EEXIST) return {};
    return output_error("out-open", "the folder cannot be made: " + errno_text(errno), path);
  }
  path_ = path;
  guard_ = TemporaryFileGuard(path);
  return {};
}

void NewFolder::keep() {
  path_.clear();
  guard_ = TemporaryFileGuard();
}

}  // namespace modelutils
