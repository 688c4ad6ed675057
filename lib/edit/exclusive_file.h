// A file opened to be changed in place, by nobody else at the same time where the system can promise that.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/random_access_file.h"

namespace modelutils::edit {

/// Refuses, whatever is forced, a file whose name is its checksum. Errors of kind input: "edit-in-cache", "io-open".
Status refuse_download_cache(const std::string& path);

struct ExclusiveOptions {
  bool force = false;     ///< although another process has the file open
  bool any_name = false;  ///< although it has further names (hard links)
};

class ExclusiveFile {
 public:
  /// Opens the file that `path` leads to, and takes a write lease on it: nobody has it open or mapped then, and who
  /// opens it waits until this object is gone (or the system's time for that has passed). What the options allow is a
  /// remark; where there are no leases, a remark says so. A second edit of the file is refused whatever is allowed, as
  /// far as the file system has locks. Errors: "edit-in-cache" (kind input); of kind output: "out-open", "edit-owner",
  /// "edit-hard-links", "edit-in-use".
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
