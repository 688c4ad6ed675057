#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/os/files.h"
#include "base/os/posix/posix_side.h"
#include "base/os/process.h"
#include "base/os/sharing.h"
#include "base/os/thread.h"

namespace modelutils::os {

bool random_bytes(void* out, std::size_t size) {
  return ::getrandom(out, size, GRND_NONBLOCK) == static_cast<ssize_t>(size);
}

void prefer_large_pages(void* memory, std::size_t bytes) {
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
}

i64 copy_range(int from, u64 offset, int to, u64 position, u64 size) {
  off_t source = static_cast<off_t>(offset);
  off_t target = static_cast<off_t>(position);
  return ::copy_file_range(from, &source, to, &target, static_cast<std::size_t>(std::min<u64>(size, u64{1} << 30)), 0);
}

bool sync(int descriptor) {
  return ::fsync(descriptor) == 0;
}

void start_write_back(int descriptor, u64 offset, u64 size) {
  ::sync_file_range(descriptor, static_cast<off_t>(offset), static_cast<off_t>(size), SYNC_FILE_RANGE_WRITE);
}

int end_write_back(int descriptor, u64 offset, u64 size) {
  const int done =
      ::sync_file_range(descriptor, static_cast<off_t>(offset), static_cast<off_t>(size), SYNC_FILE_RANGE_WAIT_BEFORE);
  const bool has_failed = done != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT);
  return has_failed ? errno : 0;  // other errors mean that the file system has no such call
}

bool rename_new(const std::string& from, const std::string& to) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
}

bool exchange(const std::string& one, const std::string& other) {
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

bool clone(const std::string& existing, const std::string& name) {
  const int from = open(existing, reading);
  if (from < 0) return false;
  const int to = create(name, 0666);
  const int reason_of_create = errno;
  const bool is_done = to >= 0 && ::ioctl(to, FICLONE, from) == 0;
  const int reason = to < 0 ? reason_of_create : errno;
  ::close(from);
  if (to >= 0) ::close(to);
  if (to >= 0 && !is_done) remove_file(name);
  errno = reason;
  return is_done;
}

bool rename_is_unsupported() {
  return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
}

std::optional<bool> is_mount_root(const std::string& path) {
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx more {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &more) == 0 &&
      (more.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
#endif
  return {};
}

bool has_shared_blocks(const std::string& folder) {
  constexpr long xfs = 0x58465342;
  constexpr long btrfs = 0x9123683E;
  constexpr long bcachefs = static_cast<long>(0xCA451A4E);
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return false;
  const long type = static_cast<long>(system.f_type);
  return type == xfs || type == btrfs || type == bcachefs;
}

int take_lease(int descriptor) {
  // When another process opens the file, the kernel sends SIGIO, which would end this process. SIGURG is ignored by
  // default.
  ::fcntl(descriptor, F_SETSIG, SIGURG);
  return ::fcntl(descriptor, F_SETLEASE, F_WRLCK) == 0 ? 0 : errno;
}

int search_only() {
  return O_PATH;
}

bool has_more_rights() {
  return ::getauxval(AT_SECURE) != 0;
}

std::string own_program() {
  return read_link("/proc/self/exe").value_or("");
}

bool has_carryless_product() {
#if defined(__aarch64__)
  return (::getauxval(AT_HWCAP) & HWCAP_PMULL) != 0;
#else
  return false;
#endif
}

void begin_on(Thread& thread, Processor processor) {
  cpu_set_t allowed;
  const int here = ::sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  if (CPU_COUNT(&allowed) != 2 || !CPU_ISSET(here, &allowed)) return;
  // If the thread has already ended, the call may apply to the calling thread. The second call below then restores its
  // original set.
  cpu_set_t first;
  if (processor == Processor::own) {
    CPU_ZERO(&first);
    CPU_SET(here, &first);
  } else {
    first = allowed;
    CPU_CLR(here, &first);
  }
  if (::pthread_setaffinity_np(thread.native_handle(), sizeof first, &first) != 0) return;
  (void)::pthread_setaffinity_np(thread.native_handle(), sizeof allowed, &allowed);
}

const char* program_name() {
  return program_invocation_short_name;
}

}  // namespace modelutils::os
