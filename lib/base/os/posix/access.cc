#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/os/files.h"
#include "base/os/posix/posix_side.h"

namespace modelutils::os {

namespace {

class AccessCopy {
 public:
  AccessCopy(const std::string& path, int descriptor) : path_(path), descriptor_(descriptor) {}

  LostAccess run() {
    if (::stat(path_.c_str(), &from_) != 0) return {.is_unexamined = true, .what = {}, .reason = errno};
    // Set the owner last: after that, the file's other attributes can no longer be changed.
    if (::fstat(descriptor_, &now_) == 0 && now_.st_gid != from_.st_gid) {
      has_group_ = ::fchown(descriptor_, static_cast<uid_t>(-1), from_.st_gid) == 0;
      if (!has_group_) lose("the group " + std::to_string(from_.st_gid));
    }
    for (const char* list : access_lists()) {
      if (!copy_list(list)) has_lists_ = false;
    }
    if (!has_lists_) lose_because(list_reason_, "the access control list");
    if (!copy_attributes()) lose("the extended attributes");
    set_mode();
    if (now_.st_uid != from_.st_uid && ::fchown(descriptor_, from_.st_uid, static_cast<gid_t>(-1)) != 0) {
      lose("the owner " + std::to_string(from_.st_uid));
    }
    return std::move(lost_);
  }

 private:
  void lose_because(int reason, std::string what) {
    if (lost_.what.empty()) lost_.reason = reason;
    lost_.what.push_back(std::move(what));
  }
  void lose(std::string what) { lose_because(errno, std::move(what)); }

  // Copies one list. Refuses if the group could not be copied, because the list would grant its rights to another
  // group. Removes a list that the new file inherited from its folder.
  bool copy_list(const char* name) {
    const std::optional<std::string> list = attribute(path_, name);
    if (list && has_group_ && set_attribute(descriptor_, name, *list)) return true;
    list_reason_ = list && !has_group_ ? EPERM : errno;
    const bool is_none = !list && attribute_is_missing(list_reason_);
    if (attribute(descriptor_, name) && !remove_attribute(descriptor_, name)) {
      list_reason_ = errno;
      return false;
    }
    return is_none;
  }

  bool copy_attributes() {
    const auto names = copied_attributes(path_);
    if (!names) return attribute_is_missing(errno);
    int reason = 0;
    for (const std::string& name : *names) {
      const std::optional<std::string> value = attribute(path_, name.c_str());
      // Security labels are often right already, and setting them may be forbidden.
      const bool is_there = value && attribute(descriptor_, name.c_str()) == value;
      if (!is_there && !(value && set_attribute(descriptor_, name.c_str(), *value))) reason = errno;
    }
    errno = reason;
    return reason == 0;
  }

  void set_mode() {
    mode_t mode = from_.st_mode & 07777;
    if (!has_group_) {
      const mode_t both = (mode >> 3) & mode & 07;
      mode = static_cast<mode_t>((mode & 0700) | both << 3 | both);
    }
    if (!has_lists_) mode &= 0700;
    if (::fstat(descriptor_, &now_) == 0 && (now_.st_mode & 07777) == mode) return;
    if (::fchmod(descriptor_, mode) == 0) return;
    const unsigned wanted = from_.st_mode & 07777;
    std::string octal;
    for (int shift = 9; shift >= 0; shift -= 3) octal += static_cast<char>('0' + (wanted >> shift & 7));
    lose("the mode " + octal);
  }

  const std::string& path_;
  int descriptor_;
  struct stat from_ {
  }, now_{};
  bool has_group_ = true, has_lists_ = true;
  int list_reason_ = 0;
  LostAccess lost_;
};

}  // namespace

LostAccess copy_access(const std::string& path, int descriptor) {
  return AccessCopy(path, descriptor).run();
}

}  // namespace modelutils::os
