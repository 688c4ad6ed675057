// Compiled only on macOS.
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/acl.h>
#include <sys/clonefile.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <memory>

#include "base/os/files.h"
#include "base/os/posix/posix_side.h"
#include "base/os/process.h"
#include "base/os/sharing.h"
#include "base/os/thread.h"

namespace modelutils::os {

namespace {

// The kernel keeps a file's access control list under this name, but refuses to read or write it as an attribute.
constexpr const char* access_list = "com.apple.system.Security";

bool is_access_list(const char* name) {
  return std::string_view(name) == access_list;
}

struct FreeList {
  void operator()(void* list) const { ::acl_free(list); }
};
using List = std::unique_ptr<std::remove_pointer_t<acl_t>, FreeList>;

// Returns the list's bytes, or nullopt if there is none (errno is ENOENT then).
std::optional<std::string> bytes_of(const List& list) {
  if (list == nullptr) return std::nullopt;
  return attribute_text([&](char* out, std::size_t size) {
    return out == nullptr ? ::acl_size(list.get()) : ::acl_copy_ext_native(out, list.get(), static_cast<ssize_t>(size));
  });
}

struct FreeSecurity {
  void operator()(filesec_t security) const { ::filesec_free(security); }
};

// If there is no list, removes the new file's list.
bool set_access_list(int descriptor, const std::string* bytes) {
  if (bytes != nullptr) {
    const List list(::acl_copy_int_native(bytes->data()));
    return list != nullptr && ::acl_set_fd(descriptor, list.get()) == 0;
  }
  const std::unique_ptr<std::remove_pointer_t<filesec_t>, FreeSecurity> security(::filesec_init());
  return security != nullptr && ::filesec_set_property(security.get(), FILESEC_ACL, _FILESEC_REMOVE_ACL) == 0 &&
         ::fchmodx_np(descriptor, security.get()) == 0;
}

}  // namespace

std::optional<std::string> attribute(const std::string& path, const char* name) {
  if (is_access_list(name)) return bytes_of(List(::acl_get_file(path.c_str(), ACL_TYPE_EXTENDED)));
  return attribute_text([&](char* out, std::size_t size) { return ::getxattr(path.c_str(), name, out, size, 0, 0); });
}

std::optional<std::string> attribute(int descriptor, const char* name) {
  if (is_access_list(name)) return bytes_of(List(::acl_get_fd(descriptor)));
  return attribute_text([&](char* out, std::size_t size) { return ::fgetxattr(descriptor, name, out, size, 0, 0); });
}

bool set_attribute(int descriptor, const char* name, const std::string& value) {
  if (is_access_list(name)) return set_access_list(descriptor, &value);
  return ::fsetxattr(descriptor, name, value.data(), value.size(), 0, 0) == 0;
}

bool remove_attribute(int descriptor, const char* name) {
  if (is_access_list(name)) return set_access_list(descriptor, nullptr);
  return ::fremovexattr(descriptor, name, 0) == 0;
}

std::optional<std::vector<std::string>> copied_attributes(const std::string& path) {
  const auto all = attribute_text([&](char* out, std::size_t size) { return ::listxattr(path.c_str(), out, size, 0); });
  if (!all) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t at = 0; at < all->size();) {
    const std::string name = all->c_str() + at;
    at += name.size() + 1;
    // Attributes of the system; two of them cannot be set.
    if (name != "com.apple.quarantine" && name != "com.apple.provenance" && name != "com.apple.macl") {
      names.push_back(name);
    }
  }
  return names;
}

bool attribute_is_missing(int reason) {
  return reason == ENOATTR || reason == ENOENT || reason == ENOTSUP || reason == ENOSYS;  // ENOENT: no list
}

const std::vector<const char*>& access_lists() {
  static const std::vector<const char*> names = {access_list};
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

bool clone(const std::string& existing, const std::string& name) {
  return ::clonefile(existing.c_str(), name.c_str(), CLONE_NOOWNERCOPY) == 0;
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
  return true;  // true of every Mac with an arm64 processor
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
