// A folder made for outputs: gone again if they are never written, also when a signal ends the process.
#pragma once

#include <string>

#include "base/error.h"
#include "io/interrupt.h"

namespace modelutils {

/// Removes the folder it made (if it is empty) unless keep() was called.
class NewFolder {
 public:
  NewFolder() = default;
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  /// Makes one folder, not those above it. Error: "out-open". A folder that is there by now is used and stays.
  Status create(const std::string& path);
  void keep();

 private:
  std::string path_;
  TemporaryFileGuard guard_;
};

}  // namespace modelutils
