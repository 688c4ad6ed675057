#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/os/files.h"
#include "base/os/posix/posix_side.h"
#include "base/os/process.h"
#include "base/os/sharing.h"
#include "base/os/thread.h"

namespace modelutils::os {

bool random_bytes(void* out, std::size_t size) {
  const int source = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (source < 0) return false;
  const ssize_t got = ::read(source, out, size);
  ::close(source);
  return got == static_cast<ssize_t>(size);
}

void prefer_large_pages(void*, std::size_t) {}

i64 copy_range(int, u64, int, u64, u64) {
  return 0;
}

bool sync(int descriptor) {
  return ::fsync(descriptor) == 0;
}

void start_write_back(int, u64, u64) {}

int end_write_back(int, u64, u64) {
  return 0;
}

bool rename_new(const std::string&, const std::string&) {
  errno = ENOSYS;
  return false;
}

bool exchange(const std::string&, const std::string&) {
  errno = ENOSYS;
  return false;
}

bool clone(const std::string&, const std::string&) {
  errno = EOPNOTSUPP;
  return false;
}

bool rename_is_unsupported() {
  return errno == ENOSYS;
}

std::optional<bool> is_mount_root(const std::string&) {
  return {};
}

bool has_shared_blocks(const std::string&) {
  return false;
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
  return ::getuid() != ::geteuid() || ::getgid() != ::getegid();
}

// Finds the executable by the name it was started with, searching PATH as a shell does. In a shared library, returns
// the library's path.
std::string own_program() {
  Dl_info here = {};
  if (::dladdr(reinterpret_cast<const void*>(&own_program), &here) == 0 || here.dli_fname == nullptr) return {};
  const std::string name = here.dli_fname;
  if (name.find('/') != std::string::npos) return resolve(name).value_or("");
  const std::string folders = environment("PATH").value_or("");
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.size(), folders.find(':', at));
    const std::string folder = end == at ? "." : folders.substr(at, end - at);
    at = end + 1;
    const std::string path = folder + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return resolve(path).value_or("");
  }
  return {};
}

bool has_carryless_product() {
  return false;
}

void begin_on(Thread& /*thread*/, Processor /*processor*/) {}

const char* program_name() {
  return "modelutils";
}

}  // namespace modelutils::os
