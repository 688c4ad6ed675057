#include "io/atomic_directory.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "io/output_place.h"
#include "io/standard_output.h"

namespace modelutils {

NewFolder::~NewFolder() {
  if (!path_.empty()) os::remove_folder(path_);
}

Status NewFolder::create(const std::string& path) {
  const SignalHold hold;
  if (!os::make_folder(path, 0777)) {
    if (errno == EEXIST) return {};
    return output_error("out-open", "the folder cannot be made: " + errno_text(errno), path);
  }
  path_ = path;
  guard_ = TemporaryFileGuard(path);
  return {};
}

void NewFolder::keep() {
  path_.clear();
  guard_ = TemporaryFileGuard();
}

namespace {

struct OutputRemarks {
  OutputRemarkSink sink;
  std::mutex mutex;
  std::string last;
};

OutputRemarks& output_remarks() {
  static OutputRemarks remarks;
  return remarks;
}

}  // namespace

void set_output_remarks(OutputRemarkSink sink) {
  output_remarks().sink = std::move(sink);
  output_remarks().last.clear();
}

void remark_output(const std::string& path, const char* code, const std::string& message) {
  OutputRemarks& remarks = output_remarks();
  if (!remarks.sink) return;
  const std::lock_guard lock(remarks.mutex);
  if (remarks.last == folder_of(path) + code + message) return;
  remarks.last = folder_of(path) + code + message;
  remarks.sink(path, code, message);
}

namespace {

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

tl::unexpected<Error> refused(const std::string& path, std::string why) {
  return output_error("out-replace", std::move(why), path);
}

bool is_mount_point(const std::string& path, const os::FileStatus& there) {
  // Inside a chroot, the root need not be a mount point to the system.
  const auto above = os::status(path + "/..");
  if (above && above->is_same_file(there)) return true;
  if (const auto is_root = os::is_mount_root(path)) return *is_root;
  return above && above->device != there.device;
}

// True if `inner` is the folder `outer` or lies below it, after resolving both.
bool is_within(const std::string& inner, const std::string& outer) {
  const auto resolved = os::resolve(inner);
  const auto folder = os::resolve(outer);
  if (!resolved || !folder) return false;
  return *resolved == *folder || resolved->starts_with(folder->ends_with('/') ? *folder : *folder + "/");
}

// Calls visit(name, status) for every entry and stops at the first error.
template <typename Visit>
Status for_each_entry(const std::string& path, const Visit& visit) {
  Status done;
  const bool is_listed = os::list(path, [&](std::string_view name, os::EntryKind) {
    const std::string own_name(name);
    done = visit(own_name, os::link_status(path + "/" + own_name).value_or(os::FileStatus{}));
    return done.has_value();
  });
  if (!is_listed) return output_error("out-open", "cannot be listed: " + errno_text(errno), path);
  return done;
}

// Calls visit(name, status) for every file below, named "folder/file". Empty folders and those that lie too deep count
// as files.
template <typename Visit>
Status for_each_file(const std::string& path, const std::string& before, int levels, const Visit& visit) {
  return for_each_entry(path, [&](const std::string& name, const os::FileStatus& entry) -> Status {
    bool is_empty = true;
    if (entry.is_folder() && levels > 0) {
      const std::string inner = path + "/" + name;
      MU_TRY(for_each_entry(inner, [&](const std::string&, const os::FileStatus&) -> Status {
        is_empty = false;
        return {};
      }));
      if (!is_empty) MU_TRY(for_each_file(inner, before + name + "/", levels - 1, visit));
    }
    return is_empty ? visit(before + name, entry) : Status{};
  });
}

Status may_be_replaced(const std::string& path, const os::FileStatus& there, const DirectoryOptions& options) {
  if (is_mount_point(path, there)) return refused(path, "is a mount point and is not replaced");
  if (is_within(".", path)) return refused(path, "is or contains the working directory and is not replaced");
  for (const std::string& input : options.inputs) {
    if (is_within(input, path))
      return refused(path, fmt::format("contains the source '{}' and is not replaced", input));
  }
  const auto check = [&](const std::string& name, const os::FileStatus& file) -> Status {
    if (was_read(file)) return refused(path, fmt::format("contains the input '{}' and is not replaced", name));
    if (file.is_file() && options.is_ours && options.is_ours(name)) return {};
    return refused(path, fmt::format("contains '{}', which this program does not write, and is not replaced", name));
  };
  return for_each_file(path, "", most_folder_levels, check);
}

// Refuses to create a directory named like a weights file. With a trailing slash ("out.bin/") it is intended.
Status check_name(const std::string& path, const DirectoryOptions& options) {
  for (const std::string_view ending : {".bin", ".ckpt", ".gguf", ".npz", ".onnx", ".pt", ".pth", ".safetensors"}) {
    if (!path.ends_with(ending)) continue;
    return usage_error(fmt::format("'{}' is named like a file, but the output is a directory: name it without {}{}",
                                   path, ending, options.or_file));
  }
  return {};
}

// Returns true if there is a directory to replace, false if the path is free, or an error if it must not be replaced.
Result<bool> look(const std::string& given, const DirectoryOptions& options) {
  const std::string path = without_slashes(given);
  MU_TRY(refuse_output_in_cache(path));
  const auto there = os::link_status(path);
  if (!there) {
    if (errno != ENOENT) return output_error("out-open", "cannot be examined: " + errno_text(errno), path);
    MU_TRY(check_name(given, options));
    return false;
  }
  if (there->is_link()) return refused(path, "is a symbolic link; name the directory itself");
  if (!there->is_folder()) return output_error("out-directory", "is not a directory; the output must be one", path);
  if (!options.force) return output_error("out-exists", "already exists; pass --force to replace it", path);
  MU_TRY(may_be_replaced(path, *there, options));
  return true;
}

}  // namespace

Status AtomicDirectory::check(const std::string& path, const DirectoryOptions& options) {
  MU_ASSIGN([[maybe_unused]] const bool exists, look(path, options));
  return {};
}

Result<AtomicDirectory> AtomicDirectory::create(const std::string& path, const DirectoryOptions& options) {
  AtomicDirectory output;
  output.path_ = without_slashes(path);
  output.options_ = options;
  MU_ASSIGN(output.replace_, look(path, options));
  const std::string name = base_name_of(output.path_);
  if (name.empty() || name == "." || name == "..") return refused(output.path_, "has no name of its own");
  for (int attempt = 0;; ++attempt) {
    const std::string staging = temporary_name(output.path_, attempt);
    const SignalHold hold;
    if (os::make_folder(staging, output.replace_ ? 0700 : 0777)) {
      output.staging_ = staging;
      output.folder_guard_ = TemporaryFileGuard(staging);
      return output;
    }
    if (errno != EEXIST || attempt == 100) {
      return output_error("out-open", "cannot be created: " + errno_text(errno), output.path_);
    }
  }
}

AtomicDirectory::AtomicDirectory(AtomicDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      staging_(std::exchange(other.staging_, {})),
      replace_(other.replace_),
      options_(std::move(other.options_)),
      folder_guard_(std::move(other.folder_guard_)),
      names_(std::move(other.names_)),
      folders_(std::move(other.folders_)),
      guards_(std::move(other.guards_)) {}

AtomicDirectory::~AtomicDirectory() {
  if (!staging_.empty()) remove_staging();
}

// Makes the folders in a name, "a" and "a/b" for "a/b/file".
Status AtomicDirectory::make_folders_of(const std::string& name) {
  for (std::size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
    const std::string folder = name.substr(0, slash);
    if (std::ranges::find(folders_, folder) != folders_.end()) continue;
    const SignalHold hold;
    const std::string path = staging_ + "/" + folder;
    if (!os::make_folder(path, replace_ ? 0700 : 0777)) {
      return output_error("out-open", "the folder cannot be made: " + errno_text(errno), path);
    }
    folders_.push_back(folder);
    guards_.emplace_back(path);
  }
  return {};
}

Result<AtomicOutput> AtomicDirectory::create_file(std::string_view name) {
  MU_TRY(make_folders_of(std::string(name)));
  names_.emplace_back(name);
  guards_.emplace_back(staging_ + "/" + names_.back());
  OutputOptions options;
  if (replace_) options.like = predecessor_of(names_.back());
  return AtomicOutput::create(staging_ + "/" + names_.back(), options);
}

// Returns the replaced directory's file of that name. For a new name, returns the file with the strictest permissions.
std::string AtomicDirectory::predecessor_of(const std::string& name) const {
  std::string strictest;
  int fewest = 0;
  const std::string same = path_ + "/" + name;
  if (const auto own = os::link_status(same); own && own->is_file()) return same;
  const Status listed = for_each_entry(path_, [&](const std::string& entry, const os::FileStatus& there) -> Status {
    const int bits = std::popcount(there.mode & 0777u);
    if (!there.is_file() || (!strictest.empty() && bits >= fewest)) return {};
    strictest = path_ + "/" + entry;
    fewest = bits;
    return {};
  });
  return listed ? strictest : path_;
}

// Copies the access rights of the replaced directory before the rename, so that its new files are no more accessible
// than the old ones were.
void AtomicDirectory::take_access(const std::string& path) const {
  const int folder = os::open(path, os::reading | os::a_folder | os::no_link);
  if (folder < 0) return;  // remains accessible to its owner only
  const std::string lost = copy_access(path_, folder);
  os::close(folder);
  if (!lost.empty()) remark_output(path_, "out-access", lost + "; nobody gains access by this");
}

Status AtomicDirectory::close_files(std::span<AtomicOutput> files) {
  return AtomicOutput::commit_all(files);
}

Error AtomicDirectory::under_final_name(Error error) const {
  if (!staging_.empty() && error.file.starts_with(staging_)) error.file.replace(0, staging_.size(), path_);
  return error;
}

// Links the kept files into the new directory, so that they are neither copied nor read.
Status AtomicDirectory::keep_others() {
  if (!options_.is_kept) return {};
  const auto keep = [&](const std::string& name, const os::FileStatus&) -> Status {
    if (!options_.is_kept(name) || std::ranges::find(names_, name) != names_.end()) return {};
    MU_TRY(make_folders_of(name));
    names_.push_back(name);
    guards_.emplace_back(staging_ + "/" + name);
    if (os::link(path_ + "/" + name, staging_ + "/" + name)) return {};
    return output_error("out-replace", fmt::format("'{}' cannot be kept: {}", name, errno_text(errno)), path_);
  };
  return for_each_file(path_, "", most_folder_levels, keep);
}

void AtomicDirectory::remove_staging() {
  for (const std::string& name : names_) os::remove_file(staging_ + "/" + name);
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder)
    os::remove_folder(staging_ + "/" + *folder);
  os::remove_folder(staging_);
  staging_.clear();
}

namespace {

// Removes our files and the folders that they leave empty.
Status remove_ours(const std::string& path, const std::string& before, int levels, const DirectoryOptions& options) {
  return for_each_entry(path, [&](const std::string& name, const os::FileStatus& entry) -> Status {
    const std::string inner = path + "/" + name;
    if (entry.is_file() && options.is_ours(before + name)) os::remove_file(inner);
    if (!entry.is_folder() || levels == 0) return {};
    MU_TRY(remove_ours(inner, before + name + "/", levels - 1, options));
    os::remove_folder(inner);
    return {};
  });
}

}  // namespace

Status AtomicDirectory::rename_new() {
  if (os::rename_new(staging_, path_)) return {};
  // Fallback for systems without this call: rename() replaces an empty directory at most.
  if (os::rename_is_unsupported() && os::rename(staging_, path_)) return {};
  if (errno == EEXIST || errno == ENOTEMPTY) {
    return output_error("out-exists", "was created by another program in the meantime", path_);
  }
  return output_error("out-rename", "cannot be renamed into place: " + errno_text(errno), path_);
}

// Keeps the old content under the staging name until the new folder is in place.
Status AtomicDirectory::replace() {
  if (!os::link_status(path_)) return rename_new();
  MU_TRY(look(path_, options_).map([](bool) {}));
  std::string old = staging_;
  if (!os::exchange(staging_, path_)) {
    if (!os::rename_is_unsupported()) {
      return output_error("out-rename", "cannot be renamed into place: " + errno_text(errno), path_);
    }
    old = staging_ + "~";
    if (!os::rename(path_, old) || !os::rename(staging_, path_)) {
      const std::string reason = errno_text(errno);
      os::rename(old, path_);
      return output_error("out-rename", "cannot be renamed into place: " + reason, path_);
    }
  }
  staging_.clear();
  const Status removed = remove_ours(old, "", most_folder_levels, options_);
  if (!removed || !os::remove_folder(old)) {
    return output_error("out-rename",
                        "is complete, but the directory that it replaced could not be removed from " + old, path_);
  }
  return {};
}

Status AtomicDirectory::commit() {
  {
    SignalHold hold;
    if (replace_) MU_TRY(keep_others());
    for (const std::string& folder : folders_) {
      if (replace_) take_access(staging_ + "/" + folder);
      MU_TRY(sync_folder_of(staging_ + "/" + folder + "/file"));
    }
    if (replace_) take_access(staging_);
    MU_TRY(sync_folder_of(staging_ + "/file"));
    MU_TRY(replace_ ? replace() : rename_new());
    staging_.clear();
    guards_.clear();
    folder_guard_ = TemporaryFileGuard();
    hold.done();
  }
  return sync_folder_of(path_);
}

}  // namespace modelutils
