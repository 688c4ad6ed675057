#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/os/files.h"
#include "base/os/posix/posix_side.h"
#include "base/os/process.h"

namespace modelutils::os {

std::optional<std::string> attribute(const std::string& path, const char* name) {
  return attribute_text([&](char* out, std::size_t size) { return ::getxattr(path.c_str(), name, out, size); });
}

std::optional<std::string> attribute(int descriptor, const char* name) {
  return attribute_text([&](char* out, std::size_t size) { return ::fgetxattr(descriptor, name, out, size); });
}

bool set_attribute(int descriptor, const char* name, const std::string& value) {
  return ::fsetxattr(descriptor, name, value.data(), value.size(), 0) == 0;
}

bool remove_attribute(int descriptor, const char* name) {
  return ::fremovexattr(descriptor, name) == 0;
}

std::optional<std::vector<std::string>> copied_attributes(const std::string& path) {
  const auto all = attribute_text([&](char* out, std::size_t size) { return ::listxattr(path.c_str(), out, size); });
  if (!all) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all->size();) {
    const std::string name = all->c_str() + at;
    at += name.size() + 1;
    if (name.starts_with("user.") || name == "security.selinux" || name == "security.SMACK64") names.push_back(name);
  }
  return names;
}

bool attribute_is_missing(int reason) {
  return reason == ENODATA || reason == EOPNOTSUPP || reason == ENOSYS;
}

const std::vector<const char*>& access_lists() {
  static const std::vector<const char*> names = {"system.posix_acl_access", "system.posix_acl_default",
                                                 "system.nfs4_acl", "system.richacl"};
  return names;
}

namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

EditLock lock_for_edit(int descriptor) {
  struct flock lock = whole_file();
  if (::fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return EditLock::taken;
  return errno == EAGAIN || errno == EACCES ? EditLock::held : EditLock::unknown;
}

bool is_edit_locked(int descriptor) {
  struct flock lock = whole_file();
  return ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void drop_from_cache(int descriptor, u64 offset, u64 size) {
  ::posix_fadvise(descriptor, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_DONTNEED);
}

namespace {

// Returns the first bytes of a file below /proc or /sys; empty if it does not exist.
std::string system_text(const char* path) {
  char text[64];
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  const ssize_t size = ::read(descriptor, text, sizeof text);
  ::close(descriptor);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

// Process ids are unique only within one PID namespace of one machine.
std::string machine_identity() {
  struct stat processes {};
  std::string text = system_text("/etc/machine-id") + host_name();
  if (::stat("/proc/self/ns/pid", &processes) == 0) text += std::to_string(processes.st_ino);
  return text;
}

std::string boot_identity() {
  return system_text("/proc/sys/kernel/random/boot_id");
}

}  // namespace modelutils::os
