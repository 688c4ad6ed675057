// An output folder that appears complete or not at all: built next to its final path, synced, then renamed. Folders
// for outputs are removed if these are never written; remarks tell how a complete output differs from the request.
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

// A folder created for outputs. It is removed if they are never written, also when a signal ends the process.

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

// Remarks about an output that is complete but differs from the request, e.g. in its access rights. The library reports
// them; the program (tools/cli) decides where to print them.

/// Receives a warning: the output's path, a stable code, and an unescaped message.
using OutputRemarkSink = std::function<void(const std::string& path, const char* code, const std::string& message)>;

/// Sends all later remarks to `sink`. Call it before starting threads.
void set_output_remarks(OutputRemarkSink sink);

/// Passes a remark to the sink. A remark that repeats for several files of a folder is passed once, for the first.
void remark_output(const std::string& path, const char* code, const std::string& message);

/// Levels of folders in an output folder.
inline constexpr int most_folder_levels = 8;

struct DirectoryOptions {
  /// May replace an existing directory if it contains only regular files for which `is_ours` returns true, directly or
  /// in folders of their own, at most most_folder_levels deep: `is_ours` gets "folder/file".
  bool force = false;
  std::function<bool(std::string_view name)> is_ours;
  std::vector<std::string> inputs;  ///< files and folders that are read; none may lie in the replaced directory
  std::string_view or_file = {};    ///< end of the message about a directory named like a file
  /// Files of the replaced directory that stay in the new one, unless this writes a file of that name. They are ours,
  /// too. Gets "folder/file", like `is_ours`.
  std::function<bool(std::string_view name)> is_kept = {};
};

/// An output folder. A new one with the name of a file, such as "out.bin", is a usage error unless it ends in '/'. All
/// other errors are of kind output:
/// - "out-exists": the path exists, without force.
/// - "out-directory": the path exists but is not a directory.
/// - "out-replace": the directory must not be replaced, because it is a link, a mount point or the working directory,
/// contains the working directory or an input, or contains files that are not ours.
/// - "out-in-cache", "out-open", "out-write", "out-sync", "out-rename".
class AtomicDirectory {
 public:
  /// Creates the staging folder next to `path`.
  static Result<AtomicDirectory> create(const std::string& path, const DirectoryOptions& options);
  /// Returns the error that create() would return, without creating anything (for dry runs).
  static Status check(const std::string& path, const DirectoryOptions& options);

  AtomicDirectory(AtomicDirectory&&) noexcept;
  AtomicDirectory& operator=(AtomicDirectory&&) = delete;
  /// Removes everything unless commit() succeeded.
  ~AtomicDirectory();

  /// Returns the folder that holds the files until commit().
  const std::string& staging_path() const { return staging_; }

  /// Creates a file in the folder under its final name, which may be "folder/file", with most_folder_levels at most.
  /// Write it, then pass it to close_files().
  Result<AtomicOutput> create_file(std::string_view name);
  /// Syncs the files and gives them their final names in the staging folder. They can be read there until commit().
  Status close_files(std::span<AtomicOutput> files);

  /// Returns an error about a file in the staging folder as an error about its final path.
  Error under_final_name(Error error) const;

  /// Renames the staging folder to the final path. If a directory exists there, the two are exchanged and the old one
  /// is then removed entry by entry. After an error the former state is restored, except for what the message names.
  Status commit();

 private:
  AtomicDirectory() = default;
  Status make_folders_of(const std::string& name);
  Status rename_new();
  Status replace();
  std::string predecessor_of(const std::string& name) const;
  void take_access(const std::string& folder) const;
  Status keep_others();
  void remove_staging();

  std::string path_;     // without trailing slashes
  std::string staging_;  // empty once renamed to path_
  bool replace_ = false;
  DirectoryOptions options_;
  TemporaryFileGuard folder_guard_;
  std::vector<std::string> names_;
  std::vector<std::string> folders_;        // folders in the folder, each after the one that contains it
  std::vector<TemporaryFileGuard> guards_;  // for the files with final names in the staging folder
};

}  // namespace modelutils
