#include "io/read_files.h"

#include <mutex>
#include <set>
#include <utility>

namespace modelutils {

namespace {

bool remembers = false;  // set before threads start
std::mutex read_files_mutex;

std::set<std::pair<dev_t, ino_t>>& read_files() {
  static std::set<std::pair<dev_t, ino_t>> files;
  return files;
}

}  // namespace

void remember_read_files() {
  remembers = true;
}

void note_read_file(const struct stat& status) {
  if (!remembers || !S_ISREG(status.st_mode)) return;
  const std::lock_guard lock(read_files_mutex);
  read_files().emplace(status.st_dev, status.st_ino);
}

bool was_read(const struct stat& status) {
  if (!remembers) return false;
  const std::lock_guard lock(read_files_mutex);
  return read_files().contains({status.st_dev, status.st_ino});
}

}  // namespace modelutils
