#include "io/output_place.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/types.h"
#include "io/hash.h"
#include "io/model_folder.h"

namespace modelutils {

std::string output_place(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return path;
  const auto place = std::filesystem::weakly_canonical(absolute, error);
  return error ? path : place.string();
}

Status refuse_output_in_cache(const std::string& path) {
  const std::string_view cache = download_cache_of(output_place(path));
  if (cache.empty()) return {};
  return output_error("out-in-cache", fmt::format("{}; write it somewhere else", in_cache_text(cache)), path);
}

namespace {

constexpr std::string_view suffix = ".tmp";

std::string prefix_of(const std::string& path) {
  std::string name = base_name_of(path);
  if (name.size() > 200) name.resize(200);  // leaves room for the suffix within NAME_MAX
  return "." + name + ".";
}

// Returns the first bytes of a system file; empty if there is none.
std::string system_text(const char* path) {
  char text[64];
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  const ssize_t size = ::read(descriptor, text, sizeof text);
  ::close(descriptor);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

std::string eight_digits(const std::string& text) {
  const std::string digest = xxh3_digest(std::as_bytes(std::span(text)));
  std::string digits;
  for (std::size_t i = 0; i < 4; ++i) digits += fmt::format("{:02x}", static_cast<u8>(digest[i]));
  return digits;
}

// Process ids are unique only within one PID namespace of one machine.
const std::string& this_host() {
  static const std::string digits = [] {
    struct utsname host {};
    struct stat processes {};
    std::string text = system_text("/etc/machine-id");
    if (::uname(&host) == 0) text += host.nodename;
    if (::stat("/proc/self/ns/pid", &processes) == 0) text += std::to_string(processes.st_ino);
    return eight_digits(text);
  }();
  return digits;
}

const std::string& this_boot() {
  static const std::string digits = eight_digits(system_text("/proc/sys/kernel/random/boot_id"));
  return digits;
}

bool is_running(pid_t process) {
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

std::optional<pid_t> take_number(std::string_view& text) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// True if the process in "HOST-BOOT-PID-N.tmp" can no longer be writing the file.
bool is_of_ended_process(std::string_view text) {
  const std::string host = this_host() + "-";
  constexpr std::size_t boot_digits = 8;
  if (!text.starts_with(host)) return false;
  text.remove_prefix(host.size());
  const std::string_view boot = text.substr(0, boot_digits);
  if (boot.size() < boot_digits || boot.find_first_not_of("0123456789abcdef") != boot.npos) return false;
  text.remove_prefix(boot_digits);
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  const std::optional<pid_t> process = take_number(text);
  if (!process || *process == 0 || !text.starts_with('-')) return false;
  text.remove_prefix(1);
  if (!take_number(text) || text != suffix) return false;
  return boot != this_boot() || !is_running(*process);
}

}  // namespace

std::string temporary_name(const std::string& path, int attempt) {
  return fmt::format("{}{}{}-{}-{}-{}{}", folder_of(path), prefix_of(path), this_host(), this_boot(), ::getpid(),
                     attempt, suffix);
}

void remove_abandoned(const std::string& path, uid_t owner) {
  const std::string prefix = prefix_of(path);
  const auto is_abandoned = [&](std::string_view name, EntryKind) {
    return name.starts_with(prefix) && is_of_ended_process(name.substr(prefix.size()));
  };
  const Result<DirectoryNames> names = DirectoryNames::read(folder_of(path), is_abandoned);
  if (!names) return;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const std::string file = folder_of(path) + std::string(names->name(i));
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (status.st_uid == owner || status.st_uid == ::geteuid()) ::unlink(file.c_str());
  }
}

Status sync_folder_of(const std::string& path) {
  const std::string name = folder_of(path);
  const int folder = ::open(name.empty() ? "." : name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder can be writable but not readable; it cannot be synced then.
  if (folder < 0 && errno == EACCES) return {};
  const bool is_synced =
      folder >= 0 && (::fsync(folder) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP);
  const int reason = errno;
  if (folder >= 0) ::close(folder);
  if (!is_synced) return output_error("out-sync", "its folder cannot be synced: " + errno_text(reason), path);
  return {};
}

namespace {

// Access control lists. New files in a folder inherit its default list.
constexpr const char* access_lists[] = {"system.posix_acl_access", "system.posix_acl_default", "system.nfs4_acl",
                                        "system.richacl"};

bool is_copied(std::string_view name) {
  return name.starts_with("user.") || name == "security.selinux" || name == "security.SMACK64";
}

bool is_missing(int reason) {
  return reason == ENODATA || reason == EOPNOTSUPP || reason == ENOSYS;
}

class AccessCopy {
 public:
  AccessCopy(const std::string& path, int descriptor) : path_(path), descriptor_(descriptor) {}

  std::string run() {
    if (::stat(path_.c_str(), &from_) != 0) {
      return "is readable by its owner only, because the file it replaces cannot be examined: " + errno_text(errno);
    }
    // Set the owner last: after that, the file's other attributes can no longer be changed.
    if (::fstat(descriptor_, &now_) == 0 && now_.st_gid != from_.st_gid) {
      has_group_ = ::fchown(descriptor_, static_cast<uid_t>(-1), from_.st_gid) == 0;
      if (!has_group_) lose(fmt::format("the group {}", from_.st_gid));
    }
    for (const char* list : access_lists) {
      if (!copy_list(list)) has_lists_ = false;
    }
    if (!has_lists_) lose_because(list_reason_, "the access control list");
    if (!copy_attributes()) lose("the extended attributes");
    set_mode();
    if (now_.st_uid != from_.st_uid && ::fchown(descriptor_, from_.st_uid, static_cast<gid_t>(-1)) != 0) {
      lose(fmt::format("the owner {}", from_.st_uid));
    }
    if (lost_.empty()) return {};
    return fmt::format("does not keep {} of the file it replaces: {}", joined(lost_, " and "), reason_);
  }

 private:
  void lose_because(int reason, std::string what) {
    if (lost_.empty()) reason_ = errno_text(reason);
    lost_.push_back(std::move(what));
  }
  void lose(std::string what) { lose_because(errno, std::move(what)); }

  // Returns nullopt and sets errno if there is no such attribute.
  static std::optional<std::string> attribute(const std::string& path, const char* name) {
    const ssize_t size = ::getxattr(path.c_str(), name, nullptr, 0);
    if (size < 0) return std::nullopt;
    std::string value(static_cast<std::size_t>(size), '\0');
    const ssize_t got = ::getxattr(path.c_str(), name, value.data(), value.size());
    if (got < 0) return std::nullopt;
    value.resize(static_cast<std::size_t>(got));
    return value;
  }

  bool set(const char* name, const std::string& value) const {
    return ::fsetxattr(descriptor_, name, value.data(), value.size(), 0) == 0;
  }

  // Copies one list. Not without the group, as the list would grant the group's rights to another group. Removes a list
  // that the new file inherited from its folder.
  bool copy_list(const char* name) {
    const std::optional<std::string> list = attribute(path_, name);
    if (list && has_group_ && set(name, *list)) return true;
    list_reason_ = list && !has_group_ ? EPERM : errno;
    const bool is_none = !list && is_missing(list_reason_);
    if (::fgetxattr(descriptor_, name, nullptr, 0) >= 0 && ::fremovexattr(descriptor_, name) != 0) {
      list_reason_ = errno;
      return false;
    }
    return is_none;
  }

  bool copy_attributes() {
    const ssize_t size = ::listxattr(path_.c_str(), nullptr, 0);
    if (size <= 0) return size == 0 || is_missing(errno);
    std::string names(static_cast<std::size_t>(size), '\0');
    const ssize_t got = ::listxattr(path_.c_str(), names.data(), names.size());
    if (got < 0) return false;
    bool is_whole = true;
    int reason = 0;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      const char* name = names.data() + at;
      at += std::string_view(name).size() + 1;
      if (!is_copied(name)) continue;
      const std::optional<std::string> value = attribute(path_, name);
      if (value && (is_there(name, *value) || set(name, *value))) continue;
      is_whole = false;
      reason = errno;
    }
    errno = reason;
    return is_whole;
  }

  // Security labels are often right already, and setting them may be forbidden.
  bool is_there(const char* name, const std::string& value) const {
    std::string there(value.size() + 1, '\0');
    const ssize_t got = ::fgetxattr(descriptor_, name, there.data(), there.size());
    return got >= 0 && there.substr(0, static_cast<std::size_t>(got)) == value;
  }

  void set_mode() {
    mode_t mode = from_.st_mode & 07777;
    if (!has_group_) {
      const mode_t both = (mode >> 3) & mode & 07;
      mode = (mode & 0700) | both << 3 | both;
    }
    if (!has_lists_) mode &= 0700;
    if (::fstat(descriptor_, &now_) == 0 && (now_.st_mode & 07777) == mode) return;
    if (::fchmod(descriptor_, mode) != 0) lose(fmt::format("the mode {:04o}", from_.st_mode & 07777));
  }

  const std::string& path_;
  int descriptor_;
  struct stat from_ {
  }, now_{};
  bool has_group_ = true, has_lists_ = true;
  int list_reason_ = 0;
  std::vector<std::string> lost_;
  std::string reason_;  // for the first entry of lost_
};

}  // namespace

std::string copy_access(const std::string& path, int descriptor) {
  return AccessCopy(path, descriptor).run();
}

Status check_free_space(const std::string& path, u64 bytes) {
  struct stat status {};
  if (path.empty() || path == "-") return {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return {};
  std::string folder = path;
  while (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    if (folder == "." || folder == "/") break;
    const std::string above(folder_of(folder));
    folder = above.empty() ? "." : above;
  }
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0 || space.f_blocks == 0) return {};
  const u64 blocks = ::geteuid() == 0 ? space.f_bfree : space.f_bavail;
  // Compare blocks, because their size in bytes may overflow.
  const u64 block = space.f_frsize != 0 ? space.f_frsize : 1;
  if (bytes / block + (bytes % block != 0 ? 1 : 0) <= blocks) return {};
  return output_error("out-space",
                      fmt::format("needs {}, but its file system has {} free: free some space, or write it elsewhere",
                                  byte_text(bytes), byte_text(blocks * block)),
                      path);
}

}  // namespace modelutils
