#include "io/atomic_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/system.h"
#include "base/text.h"
#include "io/output_place.h"
#include "io/standard_output.h"

namespace modelutils {

NewFolder::~NewFolder() {
  if (!path_.empty()) ::rmdir(path_.c_str());
}

Status NewFolder::create(const std::string& path) {
  const SignalHold hold;
  if (::mkdir(path.c_str(), 0777) != 0) {
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

bool is_mount_point(const std::string& path, const struct stat& there) {
  // Inside a chroot, the root need not be a mount point to the system.
  struct stat above {};
  const bool has_above = ::stat((path + "/..").c_str(), &above) == 0;
  if (has_above && above.st_dev == there.st_dev && above.st_ino == there.st_ino) return true;
  if (const auto is_root = system::is_mount_root(path)) return *is_root;
  return has_above && above.st_dev != there.st_dev;
}

// True if `inner` is the folder `outer` or lies below it, after resolving both.
bool is_within(const std::string& inner, const std::string& outer) {
  std::error_code error;
  const auto resolved = std::filesystem::canonical(inner, error);
  if (error) return false;
  const auto folder = std::filesystem::canonical(outer, error);
  if (error) return false;
  const std::string prefix = folder == "/" ? "/" : folder.string() + "/";
  return resolved == folder || resolved.string().starts_with(prefix);
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Calls visit(name, status) for every entry and stops at the first error.
template <typename Visit>
Status for_each_entry(const std::string& path, const Visit& visit) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (folder == nullptr) return output_error("out-open", "cannot be listed: " + errno_text(errno), path);
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return output_error("out-open", "cannot be listed: " + errno_text(errno), path);
    if (entry == nullptr) return {};
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat there {};
    if (::lstat((path + "/" + name).c_str(), &there) != 0) there.st_mode = 0;
    MU_TRY(visit(name, there));
  }
}

Status may_be_replaced(const std::string& path, const struct stat& there, const DirectoryOptions& options) {
  if (is_mount_point(path, there)) return refused(path, "is a mount point and is not replaced");
  if (is_within(".", path)) return refused(path, "is or contains the working directory and is not replaced");
  for (const std::string& input : options.inputs) {
    if (is_within(input, path))
      return refused(path, fmt::format("contains the source '{}' and is not replaced", input));
  }
  return for_each_entry(path, [&](const std::string& name, const struct stat& entry) -> Status {
    if (was_read(entry)) return refused(path, fmt::format("contains the input '{}' and is not replaced", name));
    if (S_ISREG(entry.st_mode) && options.is_ours && options.is_ours(name)) return {};
    return refused(path, fmt::format("contains '{}', which this program does not write, and is not replaced", name));
  });
}

// Returns true if there is a directory to replace, false if the path is free, or an error if it must not be replaced.
Result<bool> look(const std::string& path, const DirectoryOptions& options) {
  MU_TRY(refuse_output_in_cache(path));
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno != ENOENT) return output_error("out-open", "cannot be examined: " + errno_text(errno), path);
    return false;
  }
  if (S_ISLNK(there.st_mode)) return refused(path, "is a symbolic link; name the directory itself");
  if (!S_ISDIR(there.st_mode)) return output_error("out-directory", "is not a directory; the output must be one", path);
  if (!options.force) return output_error("out-exists", "already exists; pass --force to replace it", path);
  MU_TRY(may_be_replaced(path, there, options));
  return true;
}

}  // namespace

Status AtomicDirectory::check(const std::string& path, const DirectoryOptions& options) {
  MU_ASSIGN([[maybe_unused]] const bool exists, look(without_slashes(path), options));
  return {};
}

Result<AtomicDirectory> AtomicDirectory::create(const std::string& path, const DirectoryOptions& options) {
  AtomicDirectory output;
  output.path_ = without_slashes(path);
  output.options_ = options;
  MU_ASSIGN(output.replace_, look(output.path_, options));
  const std::string name = base_name_of(output.path_);
  if (name.empty() || name == "." || name == "..") return refused(output.path_, "has no name of its own");
  for (int attempt = 0;; ++attempt) {
    const std::string staging = temporary_name(output.path_, attempt);
    const SignalHold hold;
    if (::mkdir(staging.c_str(), output.replace_ ? 0700 : 0777) == 0) {
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
      guards_(std::move(other.guards_)) {}

AtomicDirectory::~AtomicDirectory() {
  if (!staging_.empty()) remove_staging();
}

Result<AtomicOutput> AtomicDirectory::create_file(std::string_view name) {
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
  struct stat own {};
  const std::string same = path_ + "/" + name;
  if (::lstat(same.c_str(), &own) == 0 && S_ISREG(own.st_mode)) return same;
  const Status listed = for_each_entry(path_, [&](const std::string& entry, const struct stat& there) -> Status {
    const int bits = std::popcount(there.st_mode & 0777u);
    if (!S_ISREG(there.st_mode) || (!strictest.empty() && bits >= fewest)) return {};
    strictest = path_ + "/" + entry;
    fewest = bits;
    return {};
  });
  return listed ? strictest : path_;
}

// Copies the access rights of the replaced directory before the rename, so that its new files are no more accessible
// than the old ones were.
void AtomicDirectory::take_access() const {
  const int folder = ::open(staging_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder < 0) return;  // remains accessible to its owner only
  const std::string lost = copy_access(path_, folder);
  ::close(folder);
  if (!lost.empty()) remark_output(path_, "out-access", lost + "; nobody gains access by this");
}

Status AtomicDirectory::close_files(std::span<AtomicOutput> files) {
  return AtomicOutput::commit_all(files);
}

Error AtomicDirectory::under_final_name(Error error) const {
  if (!staging_.empty() && error.file.starts_with(staging_)) error.file.replace(0, staging_.size(), path_);
  return error;
}

void AtomicDirectory::remove_staging() {
  for (const std::string& name : names_) ::unlink((staging_ + "/" + name).c_str());
  ::rmdir(staging_.c_str());
  staging_.clear();
}

Status AtomicDirectory::rename_new() {
  if (system::rename(system::RenameMode::no_replace, staging_, path_)) return {};
  // Fallback for systems without this call: rename() replaces an empty directory at most.
  if (system::rename_is_unsupported() && ::rename(staging_.c_str(), path_.c_str()) == 0) return {};
  if (errno == EEXIST || errno == ENOTEMPTY) {
    return output_error("out-exists", "was created by another program in the meantime", path_);
  }
  return output_error("out-rename", "cannot be renamed into place: " + errno_text(errno), path_);
}

// Keeps the old content under the staging name until the new folder is in place.
Status AtomicDirectory::replace() {
  struct stat there {};
  if (::lstat(path_.c_str(), &there) != 0) return rename_new();
  MU_TRY(look(path_, options_).map([](bool) {}));
  std::string old = staging_;
  if (!system::rename(system::RenameMode::exchange, staging_, path_)) {
    if (!system::rename_is_unsupported()) {
      return output_error("out-rename", "cannot be renamed into place: " + errno_text(errno), path_);
    }
    old = staging_ + "~";
    if (::rename(path_.c_str(), old.c_str()) != 0 || ::rename(staging_.c_str(), path_.c_str()) != 0) {
      const std::string reason = errno_text(errno);
      ::rename(old.c_str(), path_.c_str());
      return output_error("out-rename", "cannot be renamed into place: " + reason, path_);
    }
  }
  staging_.clear();
  const Status removed = for_each_entry(old, [&](const std::string& name, const struct stat& entry) -> Status {
    if (S_ISREG(entry.st_mode) && options_.is_ours(name)) ::unlink((old + "/" + name).c_str());
    return {};
  });
  if (!removed || ::rmdir(old.c_str()) != 0) {
    return output_error("out-rename", "is in place, but what it replaced could not be removed from " + old, path_);
  }
  return {};
}

Status AtomicDirectory::commit() {
  {
    SignalHold hold;
    if (replace_) take_access();
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
