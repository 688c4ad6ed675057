// Output files that appear complete or not at all: written to a temporary file in the target's folder, synced, renamed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/os/files.h"
#include "base/types.h"
#include "io/interrupt.h"

namespace modelutils {

struct OutputOptions {
  bool force = false;               ///< may replace an existing regular file
  std::vector<std::string> inputs;  ///< files that will be read and must not be replaced; files already read
                                    ///< are known (io/standard_output.h)
  bool binary = true;               ///< binary output is never written to a terminal
  unsigned mode = 0666;             ///< mode of a newly created file, before the umask
  std::string like = {};            ///< for a new file: copies the access rights of this file (io/output_place.h)
};

/// True if `path` is "-", or a pipe or device that is also standard output ("/dev/stdout"). Nothing else may then be
/// printed there.
bool is_standard_output(const std::string& path);

/// One output file. "-" is standard output; a device or FIFO is written in place and needs no force. All errors are of
/// kind output: "out-exists", "out-is-input", "out-in-cache", "out-directory", "out-link", "out-terminal", "out-open",
/// "out-write" (also for a full disk), "out-sync", "out-rename".
///
/// If the path is a symbolic link, its target is replaced and the link remains. The new file gets the mode, owner,
/// group, access control list and extended attributes of the old one. Where that fails, no user gets more rights than
/// before, and a remark (io/atomic_directory.h, "out-access") says so. Until commit() only the owner can open the file.
class AtomicOutput {
 public:
  /// Creates the temporary file next to `path`, or opens a pipe or device.
  static Result<AtomicOutput> create(const std::string& path, const OutputOptions& options);
  /// Like create(), for a file that is edited: it may be one of the inputs.
  static Result<AtomicOutput> edit(const std::string& path, const OutputOptions& options);
  /// Returns the error that create() would return for an existing file, without creating one (for dry runs).
  static Status check(const std::string& path, const OutputOptions& options);

  AtomicOutput(AtomicOutput&&) noexcept;
  AtomicOutput& operator=(AtomicOutput&&) = delete;
  /// Removes the temporary file unless commit() succeeded.
  ~AtomicOutput();

  const std::string& path() const { return path_; }
  /// False for pipes, FIFOs, terminals and the like, which support append() only.
  bool is_seekable() const { return seekable_; }
  int descriptor() const { return descriptor_; }

  /// Writes after the bytes appended so far.
  Status append(Bytes bytes);
  /// Writes at an absolute offset (seekable outputs only). Several threads may call it at once.
  Status write_at(u64 offset, Bytes bytes) const;
  /// Sets the file's size. Ranges never written read as zeros (a hole if the file system has them).
  Status set_size(u64 size) const;
  /// Starts writing [offset, offset + size) back to the disk without waiting, so that the final sync is short.
  void start_write_back(u64 offset, u64 size) const;
  /// Waits until [offset, offset + size) is on the disk, then drops it from the page cache where the system can.
  Status let_go(u64 offset, u64 size) const;
  /// Sets the offset of the next append(), for bytes that were written by other means.
  void seek_append(u64 offset) { appended_ = offset; }
  /// Returns the offset of the next append().
  u64 appended() const { return appended_; }
  /// Returns the path for reading the bytes before commit(), to check them. It is the target if written in place.
  const std::string& staging_path() const { return temporary_.empty() ? path_ : temporary_; }

  /// Limits the number of open files: pause() closes the file and resume() reopens it; finish() syncs it and closes it
  /// for good. No effect on outputs written in place.
  void pause();
  Status resume();
  Status finish();

  /// Syncs the file, renames it to its final name and syncs the folder.
  Status commit() { return commit_all({this, 1}); }
  /// Commits several outputs together: syncs all before renaming the first. If a rename or the sync of a folder fails,
  /// everything is restored: new files are removed and replaced files are put back. If that fails too, the error names
  /// the files that hold the old content. A crash or SIGKILL between two renames can leave some outputs new; the files
  /// they replaced then lie next to them under temporary names.
  static Status commit_all(std::span<AtomicOutput> outputs);
  static Status commit_all(std::span<AtomicOutput* const> outputs);

 private:
  AtomicOutput() = default;
  /// Returns the status of an existing file that may be replaced or written to, or nullopt if there is none.
  static Result<std::optional<os::FileStatus>> look(const std::string& path, const OutputOptions& options,
                                                    bool may_be_input = false);
  static Result<AtomicOutput> open(const std::string& path, const OutputOptions& options, bool may_be_input);
  Status sync();
  void close();
  /// Steps of a commit: place() renames to the final name and keeps the replaced file, take_back() reverts that,
  /// settle() removes the replaced file.
  Status place();
  Status place_new();
  Status replace_existing();
  Status replace_by_backup();
  Status take_back();
  void settle();
  std::string backup_path() const { return temporary_ + "~"; }

  std::string path_;
  std::string temporary_;  // empty if written in place
  TemporaryFileGuard guard_;
  std::string like_;  // the file whose access rights are copied
  bool is_synced_ = false;
  int descriptor_ = -1;
  bool owns_descriptor_ = false;
  bool seekable_ = false;
  /// Which existing file may be replaced.
  enum class Replaced : u8 { none, no_input, any };
  Replaced replaced_ = Replaced::none;
  /// Where the new and the old content are during a commit.
  enum class Place : u8 {
    temporary,  ///< new: temporary_; old, if any: path_
    appeared,   ///< new: path_; no old file
    exchanged,  ///< new: path_; old: temporary_
    backed_up,  ///< new: path_; old: backup_path()
  };
  Place place_ = Place::temporary;
  u64 appended_ = 0;
};

}  // namespace modelutils
