#include "edit/exclusive_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/system.h"
#include "io/download_cache.h"
#include "io/edit_lock.h"
#include "io/leased_open.h"

namespace modelutils::edit {

namespace {

Result<std::string> resolve(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return input_error("io-open", "cannot be opened: " + errno_text(errno), {}, {}, path);
  std::string target = resolved;
  ::free(resolved);
  return target;
}

// Returns an error, or adds a remark with `force`.
Status refuse(std::string code, std::string message, const std::string& path, bool force, Findings& remarks) {
  if (!force) return output_error(std::move(code), message + "; --force edits it anyway", path);
  Finding remark;
  remark.severity = Severity::warning;
  remark.scope = Scope::model;
  remark.code = std::move(code);
  remark.message = std::move(message);
  remarks.push_back(std::move(remark));
  return {};
}

// Describes why a lease was refused. Source: fcntl(2), F_SETLEASE.
std::string_view why_no_lease(int reason) {
  if (reason == EACCES) return "it belongs to another user, and this process does not have CAP_LEASE";
  if (reason == EPERM) return "this process may not take leases, as in a container without CAP_LEASE";
  if (reason == ENOSYS) return "this system has no leases";
  return "this file system has no leases";
}

}  // namespace

Status refuse_download_cache(const std::string& path) {
  MU_ASSIGN(const std::string target, resolve(path));
  const std::string_view cache = download_cache_of(target);
  if (cache.empty()) return {};
  return input_error("edit-in-cache", in_cache_text(cache) + "; write a copy with -o", {}, {}, path);
}

Result<ExclusiveFile> ExclusiveFile::open(const std::string& path, ExclusiveOptions options, Findings& remarks) {
  MU_TRY(refuse_download_cache(path));
  MU_ASSIGN(const std::string target, resolve(path));
  const int descriptor =
      open_when_released(AT_FDCWD, target.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    return output_error("out-open", "cannot be opened for writing: " + errno_text(errno), path);
  }
  ExclusiveFile file;
  file.path_ = path;
  MU_ASSIGN(file.file_, RandomAccessFile::adopt(path, descriptor));
  if (::fstat(descriptor, &file.status_) != 0) {
    return output_error("out-open", "cannot be examined: " + errno_text(errno), path);
  }
  const uid_t user = ::geteuid();
  if (user != 0 && file.status_.st_uid != user) {
    return output_error("edit-owner", "belongs to another user, and only the owner can create a journal for it; use -o",
                        path);
  }
  if (file.status_.st_nlink > 1) {
    MU_TRY(refuse("edit-hard-links",
                  fmt::format("has {} hard links, all of which would change, even one in a download cache",
                              file.status_.st_nlink),
                  path, options.any_name, remarks));
  }
  if (lock_for_edit(descriptor) == EditLock::held) {
    return output_error("edit-in-use", "is being edited by another process; try again when it has finished", path);
  }
  MU_TRY(file.take_lease(options.force, remarks));
  return file;
}

Status ExclusiveFile::take_lease(bool force, Findings& remarks) const {
  const int reason = system::take_lease(file_->descriptor());
  if (reason == 0) return {};
  if (reason == EAGAIN) return refuse("edit-in-use", "is open in another process", path_, force, remarks);
  return refuse("edit-no-lease",
                fmt::format("cannot tell whether another process has the file open: {} ({})", why_no_lease(reason),
                            errno_text(reason)),
                path_, true, remarks);
}

Status ExclusiveFile::write(u64 offset, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(file_->descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return output_error("out-write", "cannot be written: " + errno_text(errno), path_);
    bytes.remove_prefix(static_cast<std::size_t>(done));
    offset += static_cast<u64>(done);
  }
  return {};
}

Status ExclusiveFile::sync() const {
  if (::fsync(file_->descriptor()) == 0) return {};
  return output_error("out-sync", "cannot be synced: " + errno_text(errno), path_);
}

}  // namespace modelutils::edit
