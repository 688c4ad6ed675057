// A folder of output files that is whole or not there: built next to its place, synced, renamed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/atomic_output.h"
#include "io/interrupt.h"

namespace modelutils {

struct DirectoryOptions {
  /// May replace a directory that holds nothing but regular files of which is_ours() says yes.
  bool force = false;
  std::function<bool(std::string_view name)> is_ours;
  std::vector<std::string> inputs;  ///< files and folders that are read: none may be in what is replaced
};

/// All errors are of kind output. "out-exists": there is something, without force; "out-directory": it is not a
/// directory; "out-replace": it must not be replaced (it is a link, a mount point, the working directory, a folder with
/// the working directory or an input in it, or holds what is not ours); "out-in-cache"; "out-open", "out-write",
/// "out-sync", "out-rename".
class AtomicDirectory {
 public:
  static Result<AtomicDirectory> create(const std::string& path, const DirectoryOptions& options);
  /// What create() would say, without making anything (for dry runs).
  static Status check(const std::string& path, const DirectoryOptions& options);

  AtomicDirectory(AtomicDirectory&&) noexcept;
  AtomicDirectory& operator=(AtomicDirectory&&) = delete;
  /// Removes everything unless commit() succeeded.
  ~AtomicDirectory();

  /// Where the files are until commit().
  const std::string& staging_path() const { return staging_; }

  /// A file in it, under its final name. Write, then close() it.
  Result<AtomicOutput> create_file(std::string_view name);
  /// The files get their names, on the disk. Until commit() they can be read below staging_path().
  Status close_files(std::span<AtomicOutput> files);

  /// An error of one of the files, about the path that it was to have rather than the one it has until commit().
  Error under_final_name(Error error) const;

  /// Gives the directory its name: renamed where nothing is, exchanged with what it replaces, which is then removed
  /// entry by entry. On an error everything is as it was before, but for what a message names.
  Status commit();

 private:
  AtomicDirectory() = default;
  Status rename_new();
  Status replace();
  std::string predecessor_of(const std::string& name) const;
  void take_access() const;
  void remove_staging();

  std::string path_;     // without trailing slashes
  std::string staging_;  // empty once it has its name
  bool replace_ = false;
  DirectoryOptions options_;
  TemporaryFileGuard folder_guard_;
  std::vector<std::string> names_;
  std::vector<TemporaryFileGuard> guards_;  // of the files with their final names in the staging folder
};

}  // namespace modelutils
