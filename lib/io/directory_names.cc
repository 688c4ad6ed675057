#include "io/directory_names.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>

#include "io/remote_address.h"
#include "io/remote_folder.h"

namespace modelutils {

namespace {

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

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

}  // namespace

Result<DirectoryNames> DirectoryNames::read(const std::string& directory,
                                            const std::function<bool(std::string_view, EntryKind)>& keep) {
  const auto failed = [&](std::string_view what, int reason) {
    return input_error("io-open", std::string(what) + errno_text(reason), {}, {}, directory);
  };
  DirectoryNames names;
  if (is_address(directory)) {
    MU_ASSIGN(const std::vector<RemoteName> there, remote_names(directory));
    for (const RemoteName& name : there) {
      if (!keep(name.name, name.kind)) continue;
      names.names_.push_back({static_cast<u32>(names.text_.size()), name.kind});  // bounded by the listing's size
      names.text_.append(name.name).push_back('\0');
    }
    return names;
  }
  const std::unique_ptr<DIR, CloseDirectory> stream(::opendir(directory.empty() ? "." : directory.c_str()));
  if (stream == nullptr) return failed("cannot be opened: ", errno);
  errno = 0;
  for (const dirent* entry = ::readdir(stream.get()); entry != nullptr; entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      const EntryKind kind = kind_of(::dirfd(stream.get()), *entry);
      if (keep(name, kind)) {
        if (names.text_.size() > std::numeric_limits<u32>::max() - name.size()) {
          return failed("cannot be listed: ", EOVERFLOW);
        }
        names.names_.push_back({static_cast<u32>(names.text_.size()), kind});
        names.text_.append(name).push_back('\0');
      }
    }
    errno = 0;
  }
  if (errno != 0) return failed("cannot be listed: ", errno);
  const char* text = names.text_.data();
  std::ranges::sort(names.names_, {}, [&](const Name& name) { return std::string_view(text + name.at); });
  return names;
}

bool DirectoryNames::contains(std::string_view name) const {
  const auto text_of = [&](const Name& entry) { return std::string_view(text_.data() + entry.at); };
  const auto found = std::ranges::lower_bound(names_, name, {}, text_of);
  return found != names_.end() && text_of(*found) == name;
}

}  // namespace modelutils
