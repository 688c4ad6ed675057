// A file opened for changes in place, with exclusive access if the system can guarantee that.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/random_access_file.h"

namespace modelutils::edit {

/// Refuses, even if forced, a file in a download cache, whose name is its checksum. Errors of kind input:
/// "edit-in-cache", "io-open".
Status refuse_download_cache(const std::string& path);

struct ExclusiveOptions {
  bool force = false;     ///< even if another process has the file open
  bool any_name = false;  ///< even if it has other names (hard links)
};

class ExclusiveFile {
 public:
  /// Opens the file that `path` leads to and takes a write lease on it: no other process has it open or mapped, and one
  /// that opens it waits until this object is destroyed (or the system's lease timeout passes). Adds a remark for
  /// everything that the options permit, and if leases are not available. Never permits two edits of a file at once, as
  /// far as the file system supports locks. Errors: "edit-in-cache" (kind input); of kind output: "out-open",
  /// "edit-owner", "edit-hard-links", "edit-in-use".
  static Result<ExclusiveFile> open(const std::string& path, ExclusiveOptions options, Findings& remarks);

  const RandomAccessFile& reader() const { return *file_; }
  const struct stat& status() const { return status_; }

  /// Errors of kind output: "out-write", "out-sync".
  Status write(u64 offset, std::string_view bytes) const;
  Status sync() const;

 private:
  ExclusiveFile() = default;
  Status take_lease(bool force, Findings& remarks) const;

  std::string path_;
  std::shared_ptr<RandomAccessFile> file_;
  struct stat status_ {};
};

}  // namespace modelutils::edit
