// Outputs that are whole or not there: written to a temporary file in the target's folder, synced, renamed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "io/interrupt.h"

namespace modelutils {

struct OutputOptions {
  bool force = false;               ///< may replace an existing regular file
  std::vector<std::string> inputs;  ///< refused, too: files that will be read; those read already are known
                                    ///< (io/read_files.h)
  bool binary = true;               ///< binary output is never written to a terminal
  mode_t mode = 0666;               ///< of a file that replaces none; the umask takes from it
  std::string like = {};            ///< where it replaces none: the file whose access (io/file_access.h) it gets
};

/// Is `path` "-", or a pipe or device that standard output is, too ("/dev/stdout")? Then nothing else may be printed
/// there.
bool is_standard_output(const std::string& path);

/// One output file. "-" is standard output; a device or FIFO is written in place and needs no force. All errors are of
/// kind output: "out-exists", "out-is-input", "out-in-cache", "out-directory", "out-link", "out-terminal", "out-open",
/// "out-write" (a full disk says so), "out-sync", "out-rename". A path that is a symbolic link stays one: its target is
/// replaced. What it replaces it is like in mode, owner, group, access control list and extended attributes; where that
/// cannot be, no user may do more with it than before, and a remark (io/output_remarks.h, "out-access") says so. Until
/// it is written only its owner may open it.
class AtomicOutput {
 public:
  static Result<AtomicOutput> create(const std::string& path, const OutputOptions& options);
  /// What create() would say of an existing file, without making one (for dry runs).
  static Status check(const std::string& path, const OutputOptions& options);

  AtomicOutput(AtomicOutput&&) noexcept;
  AtomicOutput& operator=(AtomicOutput&&) = delete;
  /// Removes the temporary file unless commit() succeeded.
  ~AtomicOutput();

  const std::string& path() const { return path_; }
  /// False for pipes, FIFOs, terminals and the like: only append() works there.
  bool is_seekable() const { return seekable_; }
  int descriptor() const { return descriptor_; }

  /// Writes at the end of what append() wrote so far.
  Status append(Bytes bytes);
  /// Writes at an absolute position (seekable outputs only); safe from several threads.
  Status write_at(u64 offset, Bytes bytes) const;
  /// Makes the file `size` bytes long; what was never written reads as zeros (a hole where the file system has them).
  Status set_size(u64 size) const;
  /// Starts writing [offset, offset + size) back to the disk without waiting, so that the final sync is short.
  void start_write_back(u64 offset, u64 size) const;
  /// Waits until [offset, offset + size) is on the disk and drops it from the page cache (where the system can).
  Status let_go(u64 offset, u64 size) const;
  /// Moves the place of the next append() (after the bytes were put there by other means).
  void seek_append(u64 offset) { appended_ = offset; }
  /// What append() wrote.
  u64 appended() const { return appended_; }
  /// The path under which the bytes can be read before commit() (to check them); the target itself if written in place.
  const std::string& staging_path() const { return temporary_.empty() ? path_ : temporary_; }

  /// Several outputs need not all be open: pause() closes the file, resume() opens it again; finish() syncs it and
  /// closes it for good. They do nothing to what is written in place.
  void pause();
  Status resume();
  Status finish();

  /// Syncs to the disk, renames to the final name, syncs the folder.
  Status commit() { return commit_all({this, 1}); }
  /// The same for several outputs that belong together: all are synced before the first is renamed, and if a rename or
  /// the sync of a folder fails, everything is as it was before: new names are gone, replaced files are back. (Should
  /// even that fail, the error says which file has its old content under which name. A crash or SIGKILL between two
  /// renames can leave some of the outputs new; what they replaced then lies next to them, under a temporary name.)
  static Status commit_all(std::span<AtomicOutput> outputs);
  static Status commit_all(std::span<AtomicOutput* const> outputs);

 private:
  AtomicOutput() = default;
  /// The mode of what is there, if anything, and may be replaced or written to.
  static Result<std::optional<mode_t>> look(const std::string& path, const OutputOptions& options);
  Status sync();
  void close();
  /// atomic_commit.cc: gives the final name, keeping what it replaces; takes that back; forgets what was replaced.
  Status place();
  Status place_new();
  Status replace_existing();
  Status replace_by_backup();
  Status take_back();
  void settle();
  std::string backup_path() const { return temporary_ + "~"; }

  std::string path_;
  std::string temporary_;  // empty when written in place
  TemporaryFileGuard guard_;
  std::string like_;  // whose access it gets
  bool is_synced_ = false;
  int descriptor_ = -1;
  bool owns_descriptor_ = false;
  bool seekable_ = false;
  bool replace_ = false;
  /// Where the new bytes are, and where what they replace.
  enum class Place : u8 {
    temporary,  ///< new: temporary_; old, if any: path_
    appeared,   ///< new: path_; there was no old
    exchanged,  ///< new: path_; old: temporary_
    backed_up,  ///< new: path_; old: backup_path()
  };
  Place place_ = Place::temporary;
  u64 appended_ = 0;
};

}  // namespace modelutils
