// Compiled only on macOS.
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/os/files.h"
#include "base/os/posix/posix_side.h"
#include "base/os/process.h"
#include "base/os/thread.h"

namespace modelutils::os {

std::optional<std::string> attribute(const std::string& path, const char* name) {
  return attribute_text([&](char* out, std::size_t size) { return ::getxattr(path.c_str(), name, out, size, 0, 0); });
}

std::optional<std::string> attribute(int descriptor, const char* name) {
  return attribute_text([&](char* out, std::size_t size) { return ::fgetxattr(descriptor, name, out, size, 0, 0); });
}

bool set_attribute(int descriptor, const char* name, const std::string& value) {
  return ::fsetxattr(descriptor, name, value.data(), value.size(), 0, 0) == 0;
}

bool remove_attribute(int descriptor, const char* name) {
  return ::fremovexattr(descriptor, name, 0) == 0;
}

std::optional<std::vector<std::string>> copied_attributes(const std::string& path) {
  const auto all = attribute_text([&](char* out, std::size_t size) { return ::listxattr(path.c_str(), out, size, 0); });
  if (!all) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all->size();) {
    const std::string name = all->c_str() + at;
    at += name.size() + 1;
    if (name != "com.apple.quarantine" && name != "com.apple.provenance") names.push_back(name);
  }
  return names;
}

bool attribute_is_missing(int reason) {
  return reason == ENOATTR || reason == ENOTSUP || reason == ENOSYS;
}

const std::vector<const char*>& access_lists() {
  static const std::vector<const char*> names = {"com.apple.system.Security"};
  return names;
}

EditLock lock_for_edit(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return EditLock::taken;
  return errno == EWOULDBLOCK ? EditLock::held : EditLock::unknown;
}

bool is_edit_locked(int descriptor) {
  if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(descriptor, LOCK_UN);
  return false;
}

i64 copy_range(int, u64, int, u64, u64) {
  return 0;
}

// clonefile() shares whole files only.
bool has_shared_blocks(const std::string&) {
  return false;
}

void prefer_large_pages(void*, std::size_t) {}

bool sync(int descriptor) {
  if (::fcntl(descriptor, F_FULLFSYNC) == 0) return true;
  return (errno == ENOTSUP || errno == EINVAL || errno == ENOTTY) && ::fsync(descriptor) == 0;
}

void start_write_back(int, u64, u64) {}

int end_write_back(int, u64, u64) {
  return 0;
}

void drop_from_cache(int, u64, u64) {}

bool rename_new(const std::string& from, const std::string& to) {
  return ::renamex_np(from.c_str(), to.c_str(), RENAME_EXCL) == 0;
}

bool exchange(const std::string& one, const std::string& other) {
  return ::renamex_np(one.c_str(), other.c_str(), RENAME_SWAP) == 0;
}

bool rename_is_unsupported() {
  return errno == ENOTSUP || errno == EINVAL || errno == ENOSYS;
}

std::optional<bool> is_mount_root(const std::string& path) {
  struct statfs there {};
  const auto resolved = resolve(path);
  if (!resolved || ::statfs(path.c_str(), &there) != 0) return {};
  return *resolved == there.f_mntonname;
}

int take_lease(int) {
  return ENOSYS;
}

int search_only() {
#ifdef O_SEARCH
  return O_SEARCH;
#else
  return O_RDONLY;
#endif
}

bool has_more_rights() {
  return ::issetugid() != 0;
}

std::string own_program() {
  char path[4096];
  std::uint32_t size = sizeof path;
  return ::_NSGetExecutablePath(path, &size) == 0 ? resolve(path).value_or("") : std::string();
}

bool has_carryless_product() {
  return true;  // every Mac with an arm64 processor
}

bool random_bytes(void* out, std::size_t size) {
  ::arc4random_buf(out, size);
  return true;
}

std::string machine_identity() {
  uuid_t id = {};
  const struct timespec wait {};
  std::string text = host_name();
  if (::gethostuuid(id, &wait) == 0) text.append(reinterpret_cast<const char*>(id), sizeof id);
  return text;
}

std::string boot_identity() {
  char id[64] = {};
  std::size_t size = sizeof id;
  return ::sysctlbyname("kern.bootsessionuuid", id, &size, nullptr, 0) == 0 ? std::string(id) : std::string();
}

const char* program_name() {
  return ::getprogname();
}

void begin_on(Thread& /*thread*/, Processor /*processor*/) {}

}  // namespace modelutils::os
