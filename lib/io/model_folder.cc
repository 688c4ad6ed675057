#include "io/model_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/system.h"
#include "io/download_cache.h"
#include "io/leased_open.h"
#include "io/remote_address.h"
#include "io/remote_folder.h"

namespace modelutils {

namespace {

/// Owns a file descriptor and closes it.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

tl::unexpected<Error> open_error(const std::string& path, int reason) {
  return input_error("io-open", "cannot be opened: " + errno_text(reason), {}, {}, path);
}

bool is_link(int directory, const std::string& name) {
  struct stat status {};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

/// Opens `path` (relative to `directory`) for reading, one component at a time, without following links. Returns -1 and
/// sets errno on failure. ELOOP means that a component is a link; `last` then tells whether it is the last one.
int open_without_links(int directory, std::string_view path, bool& last) {
  Descriptor at(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  last = false;
  while (at.number() >= 0) {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string step(path.substr(0, end));
    path.remove_prefix(end);
    last = path.find_first_not_of('/') == path.npos;
    // O_NONBLOCK: opening a FIFO without a writer must not block.
    const int flags =
        O_NOFOLLOW | O_CLOEXEC | (last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : system::search_only() | O_DIRECTORY);
    const int next = open_when_released(at.number(), step.c_str(), flags);
    if (next < 0 && errno == ENOTDIR && !last && is_link(at.number(), step)) errno = ELOOP;
    if (next < 0 || last) return next;
    at.reset(next);
  }
  return -1;
}

std::optional<std::string> resolved(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return std::nullopt;
  std::string text(real);
  ::free(real);
  return text;
}

bool is_below(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) && path.substr(directory.size()).starts_with('/');
}

Result<FolderFile> follow_link(const std::string& folder, const std::string& path) {
  const std::optional<std::string> target = resolved(path);
  if (!target) return open_error(path, errno);
  const std::optional<std::string> home = resolved(folder);
  if (!home) return open_error(path, errno);
  const std::string cache = hub_cache_root(*home);
  const Descriptor root(::open("/", system::search_only() | O_DIRECTORY | O_CLOEXEC));
  bool last = false;
  const int descriptor = open_without_links(root.number(), *target, last);
  if (descriptor < 0) return open_error(path, errno);
  const bool is_outside = cache.empty() ? !is_below(*target, *home)
                                        : !stays_in_hub_cache(cache, *target) || !stays_in_hub_cache(cache, path);
  MU_ASSIGN(auto file, RandomAccessFile::adopt(path, descriptor));
  return FolderFile{std::move(file), is_outside, false};
}

// Names that come from a model's file must stay within its folder at an address as well.
Result<FolderFile> open_at_address(const std::string& folder, std::string_view name, const std::string& path) {
  if (!stays_in_remote_folder(folder, name)) {
    return input_error("io-open", "is not the name of a file in that folder", {}, {}, path);
  }
  MU_ASSIGN(auto file, RandomAccessFile::open(path));
  return FolderFile{std::move(file), false, false};
}

}  // namespace

std::string ModelFolder::file(std::string_view name) const {
  return path + (path.empty() || path.ends_with('/') ? "" : "/") + std::string(name);
}

bool is_present(const std::string& path) {
  if (is_address(path)) return is_remote_present(path);
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

Result<std::vector<std::string>> list_if_present(const std::string& directory) {
  std::vector<std::string> names;
  if (is_address(directory)) {
    MU_ASSIGN(std::vector<RemoteName> there, remote_names(directory));
    for (RemoteName& name : there) names.push_back(std::move(name.name));
    return names;
  }
  DIR* stream = ::opendir(directory.empty() ? "." : directory.c_str());
  if (stream == nullptr) {
    if (errno == ENOENT || errno == ENOTDIR) return names;
    return open_error(directory, errno);
  }
  errno = 0;
  for (const dirent* entry = ::readdir(stream); entry != nullptr; entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int reason = errno;
  ::closedir(stream);
  if (reason != 0) {
    return input_error("io-open", "cannot be listed: " + errno_text(reason), {}, {}, directory);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<FolderFile> open_in_folder(const std::string& folder, std::string_view name) {
  const std::string path = ModelFolder(folder).file(name);
  if (is_address(folder)) return open_at_address(folder, name, path);
  const std::string home = folder.empty() ? "." : folder;
  const Descriptor directory(::open(home.c_str(), system::search_only() | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0) return open_error(path, errno);
  bool last = false;
  const int descriptor = open_without_links(directory.number(), name, last);
  if (descriptor < 0 && errno == ELOOP) {
    MU_ASSIGN(FolderFile linked, follow_link(home, path));
    linked.is_below_linked_dir = !last;
    return linked;
  }
  if (descriptor < 0) return open_error(path, errno);
  MU_ASSIGN(auto file, RandomAccessFile::adopt(path, descriptor));
  return FolderFile{std::move(file), false, false};
}

Result<std::shared_ptr<RandomAccessFile>> open_side_file(const ModelFolder& folder, std::string_view name) {
  if (const auto known = folder.memory->files.find(name); known != folder.memory->files.end()) return known->second;
  const std::string path = folder.file(name);
  if (!is_present(path)) return nullptr;
  MU_ASSIGN(FolderFile opened, open_in_folder(folder.path, name));
  if (opened.is_outside && folder.links == OutsideLinks::refuse) {
    return input_error(
        "io-link-outside",
        "is a symbolic link that leads out of the model's directory, so it may not belong to the model; use "
        "--follow-links to accept it",
        {}, {}, path);
  }
  folder.memory->files.emplace(name, opened.file);
  return std::move(opened.file);
}

bool is_read_failure(const Error& error) {
  return error.code.starts_with("io-");
}

}  // namespace modelutils
