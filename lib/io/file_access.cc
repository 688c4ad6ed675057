#include "io/file_access.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/joined.h"

namespace modelutils {

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

}  // namespace modelutils
