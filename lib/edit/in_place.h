// Changes a header in place, in a file opened with exclusive access if the system can guarantee that. An undo journal
// allows recovery after any interruption.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/os/files.h"
#include "formats/gguf/edit_journal.h"
#include "io/random_access_file.h"

namespace modelutils::edit {

// A file opened for changes in place, with exclusive access if the system can guarantee that.

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
  const os::FileStatus& status() const { return status_; }

  /// Errors of kind output: "out-write", "out-sync".
  Status write(u64 offset, std::string_view bytes) const;
  Status sync() const;

 private:
  ExclusiveFile() = default;
  Status take_lease(bool force, Findings& remarks) const;

  std::string path_;
  std::shared_ptr<RandomAccessFile> file_;
  os::FileStatus status_;
};

struct HeaderChange {
  std::string path;
  gguf::EditJournal journal;  ///< the changed bytes, and digests of the old and the new header
  u64 file_size = 0;
};

/// Returns the change from `before` (the file's bytes up to its data section) to `after`, a header of the same length.
HeaderChange header_change(std::string path, std::string_view before, std::string_view after, u64 file_size);

/// Returns the bytes in which two strings of equal length differ. Differences only a few bytes apart share a range.
std::vector<gguf::EditRange> changed_ranges(std::string_view before, std::string_view after);

/// Changes the header: writes the journal (never replacing one), compares the file with the plan, writes, syncs and
/// removes the journal. Restores the old bytes if writing fails. No other descriptor of this process may be open on the
/// file. `force` permits changing a file that another process has open or that has other names. A remark reports these
/// cases, and that they could not be checked.
///
/// Errors: "edit-in-cache"; of kind output: "out-open", "edit-owner", "edit-hard-links", "edit-in-use" (also if another
/// edit has its journal there), "edit-changed" (the file no longer matches the plan), "edit-journal-foreign", those of
/// AtomicOutput for the journal, "out-write", "out-sync".
Status change_header(const HeaderChange& change, bool force, Findings& remarks);

enum class Recovery : u8 {
  nothing_to_do,  ///< there is no journal
  restored,       ///< the old header was written back
  completed,      ///< the new header was already complete
};

struct RecoverOptions {
  std::string journal;  ///< path of the interrupted edit's journal; if empty, looks beside the file
  bool force = false;   ///< even if another process has the file open
};

/// --recover: undoes an interrupted edit, using the journal with the file's own name or one in its folder made under
/// another name. Removes the journal, unless a file of the journal's name exists that may need it too (a remark,
/// "edit-journal-kept"). Errors: those of change_header(); "edit-journal-foreign" if the journal is not valid for this
/// file.
Result<Recovery> recover_header(const std::string& path, const RecoverOptions& options, Findings& remarks);

}  // namespace modelutils::edit
