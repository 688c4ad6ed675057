// A folder created for outputs. It is removed if they are never written, also when a signal ends the process.
#pragma once

#include <string>

#include "base/error.h"
#include "io/interrupt.h"

namespace modelutils {

/// Removes the folder that it created, if empty, unless keep() was called.
class NewFolder {
 public:
  NewFolder() = default;
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  /// Creates one folder, but not its parents. An existing folder is used and never removed. Error: "out-open".
  Status create(const std::string& path);
  /// Keeps the folder: its outputs are complete.
  void keep();

 private:
  std::string path_;
  TemporaryFileGuard guard_;
};

}  // namespace modelutils
