#include "base/os/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <utility>

#include "base/os/posix/posix_side.h"
#include "base/os/sharing.h"

namespace modelutils::os {

namespace {

EntryKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return EntryKind::file;
  if (S_ISDIR(mode)) return EntryKind::directory;
  return S_ISLNK(mode) ? EntryKind::link : EntryKind::other;
}

EntryKind kind_of(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return kind_of(DTTOIF(entry.d_type));
  struct stat status {};  // some file systems do not report the type
  const bool known = ::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  return known ? kind_of(status.st_mode) : EntryKind::other;
}

FileStatus described(const struct stat& status) {
#if defined(__APPLE__)
  const struct timespec& modified = status.st_mtimespec;
#else
  const struct timespec& modified = status.st_mtim;
#endif
  return {.kind = kind_of(status.st_mode),
          .device = static_cast<u64>(status.st_dev),
          .inode = static_cast<u64>(status.st_ino),
          .size = static_cast<u64>(status.st_size),
          .disk_bytes = static_cast<u64>(status.st_blocks) * 512,
          .modified = i64{modified.tv_sec} * 1'000'000'000 + modified.tv_nsec,
          .links = static_cast<u64>(status.st_nlink),
          .mode = static_cast<unsigned>(status.st_mode & 07777),
          .owner = static_cast<unsigned>(status.st_uid)};
}

struct CloseFolder {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

#ifdef O_NOATIME
bool keeps_access_times = false;
#endif

int open_at(int directory, const char* path, int flags) {
#ifdef O_NOATIME
  if (keeps_access_times && (flags & O_ACCMODE) == O_RDONLY) {
    const int descriptor = ::openat(directory, path, flags | O_NOATIME);
    if (descriptor >= 0 || errno != EPERM) return descriptor;  // EPERM: another user's file
  }
#endif
  return ::openat(directory, path, flags);
}

}  // namespace

std::optional<FileStatus> status(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return std::nullopt;
  return described(there);
}

std::optional<FileStatus> status(int descriptor) {
  struct stat there {};
  if (::fstat(descriptor, &there) != 0) return std::nullopt;
  return described(there);
}

std::optional<FileStatus> link_status(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return std::nullopt;
  return described(there);
}

bool is_folder(const std::string& path) {
  struct stat there {};
  return ::stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode);
}

std::optional<i64> access_time(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return std::nullopt;
#if defined(__APPLE__)
  const struct timespec& time = there.st_atimespec;
#else
  const struct timespec& time = there.st_atim;
#endif
  return i64{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool may_enter(const std::string& folder) {
  return ::faccessat(AT_FDCWD, folder.c_str(), R_OK | X_OK, AT_EACCESS) == 0;
}

std::size_t root_size(std::string_view path) {
  return path.starts_with('/') ? 1 : 0;
}

std::string from_native(std::string path) {
  return path;
}

bool leads_elsewhere(std::string_view) {
  return false;
}

std::optional<std::string> resolve(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  if (real == nullptr) return std::nullopt;
  return std::string(real.get());
}

std::optional<std::string> read_link(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

std::optional<std::string> working_folder() {
  std::array<char, PATH_MAX> folder{};
  if (::getcwd(folder.data(), folder.size()) == nullptr) return std::nullopt;
  return std::string(folder.data());
}

bool list(const std::string& folder, const std::function<bool(std::string_view name, EntryKind kind)>& visit) {
  const int descriptor = open_at(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(descriptor));
  if (stream == nullptr) {
    ::close(descriptor);
    return false;
  }
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (!visit(name, kind_of(::dirfd(stream.get()), *entry))) return true;
  }
  const int reason = errno;
  if (reason == 0) return true;
  errno = reason;
  return false;
}

namespace {

// openat() fails with EWOULDBLOCK if another process holds a lease, and asks that process to release it.
int open_when_released(int directory, const char* path, int flags) {
  constexpr int pause_ms = 10, most_pauses = 6000;
  for (int pause = 0;; ++pause) {
    const int descriptor = open_at(directory, path, flags);
    if (descriptor >= 0 || errno != EWOULDBLOCK || pause == most_pauses) return descriptor;
    ::poll(nullptr, 0, pause_ms);
    errno = EWOULDBLOCK;
  }
}

/// Owns a file descriptor and closes it.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

bool is_link_in(int directory, const std::string& name) {
  struct stat status {};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

}  // namespace

int open(const std::string& path, unsigned flags) {
  constexpr int accesses[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR};
  int native = accesses[flags & 3] | O_CLOEXEC | O_NOCTTY;
  if ((flags & no_link) != 0) native |= O_NOFOLLOW;
  if ((flags & a_folder) != 0) native |= O_DIRECTORY;
  if ((flags & no_wait) != 0) return open_when_released(AT_FDCWD, path.c_str(), native | O_NONBLOCK);
  return open_at(AT_FDCWD, path.c_str(), native);
}

void keep_access_times() {
#if defined(__APPLE__)
  ::setiopolicy_np(IOPOL_TYPE_VFS_ATIME_UPDATES, IOPOL_SCOPE_PROCESS, IOPOL_ATIME_UPDATES_OFF);
#elif defined(O_NOATIME)
  keeps_access_times = true;
#endif
}

int create(const std::string& path, unsigned mode) {
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode));
}

int open_without_links(const std::string& folder, std::string_view name, bool& last) {
  last = false;
  Descriptor at(::open(folder.c_str(), search_only() | O_DIRECTORY | O_CLOEXEC));
  while (at.number() >= 0) {
    name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
    const std::size_t end = std::min(name.find('/'), name.size());
    const std::string step(name.substr(0, end));
    name.remove_prefix(end);
    last = name.find_first_not_of('/') == name.npos;
    // O_NONBLOCK: opening a FIFO without a writer must not block.
    const int flags = O_NOFOLLOW | O_CLOEXEC | (last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : search_only() | O_DIRECTORY);
    const int next = open_when_released(at.number(), step.c_str(), flags);
    if (next < 0 && errno == ENOTDIR && !last && is_link_in(at.number(), step)) errno = ELOOP;
    if (next < 0 || last) return next;
    at.reset(next);
  }
  return -1;
}

void close(int descriptor) {
  ::close(descriptor);
}

i64 read(int descriptor, void* out, std::size_t size) {
  return repeated([&] { return ::read(descriptor, out, size); });
}

i64 read_at(int descriptor, void* out, std::size_t size, u64 offset) {
  return repeated([&] { return ::pread(descriptor, out, size, static_cast<off_t>(offset)); });
}

i64 write(int descriptor, const void* data, std::size_t size) {
  return repeated([&] { return ::write(descriptor, data, size); });
}

i64 write_at(int descriptor, const void* data, std::size_t size, u64 offset) {
  return repeated([&] { return ::pwrite(descriptor, data, size, static_cast<off_t>(offset)); });
}

std::optional<u64> position(int descriptor) {
  const off_t at = ::lseek(descriptor, 0, SEEK_CUR);
  return at < 0 ? std::nullopt : std::optional<u64>(static_cast<u64>(at));
}

bool set_size(int descriptor, u64 size) {
  return ::ftruncate(descriptor, static_cast<off_t>(size)) == 0;
}

const std::byte* map(int descriptor, std::size_t size) {
  const void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  return data == MAP_FAILED ? nullptr : static_cast<const std::byte*>(data);
}

void unmap(const std::byte* data, std::size_t size) {
  ::munmap(const_cast<std::byte*>(data), size);
}

bool sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder can be writable but not readable; it cannot be synced then.
  if (descriptor < 0) return errno == EACCES;
  const bool is_synced = sync(descriptor) || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ||
                         errno == ENOTSUP;  // another number on macOS
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return is_synced;
}

bool remove_file(const char* path) {
  return ::unlink(path) == 0;
}

bool remove_folder(const char* path) {
  return ::rmdir(path) == 0;
}

bool make_folder(const std::string& path, unsigned mode) {
  return ::mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0;
}

bool set_mode(const std::string& path, unsigned mode) {
  return ::chmod(path.c_str(), static_cast<mode_t>(mode)) == 0;
}

bool rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0;
}

bool link(const std::string& existing, const std::string& name) {
  return ::link(existing.c_str(), name.c_str()) == 0;
}

bool symbolic_link(const std::string& target, const std::string& name) {
  return ::symlink(target.c_str(), name.c_str()) == 0;
}

std::optional<FreeSpace> free_space(const std::string& folder) {
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0 || space.f_blocks == 0) return std::nullopt;
  return FreeSpace{.blocks = ::geteuid() == 0 ? space.f_bfree : space.f_bavail,
                   .block = space.f_frsize != 0 ? space.f_frsize : 1};
}

}  // namespace modelutils::os
