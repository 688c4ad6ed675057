#include "io/model_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/system.h"
#include "base/text.h"
#include "io/random_access_file.h"
#include "io/remote_address.h"

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

namespace {

constexpr std::string_view shared_mark = ".huggingface-shared-blobs";
constexpr int most_links = 40;  // Linux's limit

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "sha256-" ("sha256:" in old versions) and 64 digits.
bool is_ollama_blob(std::string_view name) {
  constexpr std::string_view prefix = "sha256";
  constexpr std::size_t digits = 64;
  if (name.size() != prefix.size() + 1 + digits || !name.starts_with(prefix)) return false;
  const char mark = name[prefix.size()];
  return (mark == '-' || mark == ':') && is_hexadecimal(name.substr(prefix.size() + 1));
}

// "ab/ab01…" in the shared blobs: each name begins with its folder's name.
bool is_shared_name(std::string_view prefix, std::string_view name) {
  constexpr std::size_t letters = 2;
  return prefix.size() == letters && name.size() > letters && name.starts_with(prefix);
}

bool is_xet_hash(std::string_view name) {
  constexpr std::size_t digits = 64;
  return name.size() == digits && is_hexadecimal(name);
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

// True if the resolved path lies in a repository of the cache or is one of its shared blobs.
bool is_in_hub_cache(std::string_view root, std::string_view path) {
  if (root != "/" && (!path.starts_with(root) || !path.substr(root.size()).starts_with('/'))) return false;
  const std::vector<std::string_view> parts = parts_of(path.substr(root == "/" ? 1 : root.size() + 1));
  if (parts.size() > 1 && is_hub_repository_name(parts[0])) return true;
  return parts.size() == 3 && parts[0] == "blobs" && is_shared_name(parts[1], parts[2]);
}

std::optional<std::string> resolved(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return std::nullopt;
  std::string text(real);
  ::free(real);
  return text;
}

}  // namespace

bool is_hub_repository_name(std::string_view base_name) {
  constexpr std::array<std::string_view, 4> kinds = {"models--", "datasets--", "spaces--", "kernels--"};
  return std::any_of(kinds.begin(), kinds.end(), [&](std::string_view kind) { return base_name.starts_with(kind); });
}

bool is_shared_blobs(const std::string& path) {
  struct stat status {};
  if (::lstat((path + "/" + std::string(shared_mark)).c_str(), &status) == 0) return true;
  DIR* stream = ::opendir((path + "/..").c_str());
  if (stream == nullptr) return false;
  bool is_beside_repositories = false;
  for (const dirent* entry = ::readdir(stream); entry != nullptr && !is_beside_repositories;
       entry = ::readdir(stream)) {
    is_beside_repositories = is_hub_repository_name(entry->d_name);
  }
  ::closedir(stream);
  return is_beside_repositories;
}

std::string hub_cache_root(std::string_view resolved_path) {
  while (!resolved_path.empty()) {
    const std::size_t slash = resolved_path.rfind('/');
    if (slash == resolved_path.npos) break;
    const std::string_view name = resolved_path.substr(slash + 1);
    resolved_path = resolved_path.substr(0, slash);
    if (name.starts_with("models--")) return resolved_path.empty() ? "/" : std::string(resolved_path);
  }
  return {};
}

bool stays_in_hub_cache(const std::string& root, const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= most_links; ++links) {
    const std::string name = base_name_of(at);
    const std::optional<std::string> folder = resolved(folder_of(at).empty() ? "." : folder_of(at));
    if (!folder || name.empty() || name == "." || name == "..") return false;
    at = *folder == "/" ? "/" + name : *folder + "/" + name;
    if (!is_in_hub_cache(root, at)) return false;
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlink(at.c_str(), target.data(), target.size());
    struct stat status {};
    if (size < 0) return ::lstat(at.c_str(), &status) == 0;
    const std::string_view to(target.data(), static_cast<std::size_t>(size));
    at = to.starts_with('/') ? std::string(to) : *folder + "/" + std::string(to);
  }
  return false;
}

std::string_view download_cache_of(std::string_view resolved_path) {
  const std::vector<std::string_view> parts = parts_of(resolved_path);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const bool is_inside = i + 2 < parts.size();
    if (is_inside && is_hub_repository_name(parts[i]) && (parts[i + 1] == "blobs" || parts[i + 1] == "snapshots")) {
      return "Hugging Face";
    }
    if (parts[i] != "blobs") continue;
    const bool is_shared_blob =
        is_inside && is_shared_name(parts[i + 1], parts[i + 2]) && is_xet_hash(parts[i + 2].substr(0, 64));
    const auto end = static_cast<std::size_t>(parts[i].data() + parts[i].size() - resolved_path.data());
    if (is_shared_blob || is_shared_blobs(std::string(resolved_path.substr(0, end)))) return "Hugging Face";
  }
  if (parts.size() > 1 && parts[parts.size() - 2] == "blobs" && is_ollama_blob(parts.back())) return "Ollama";
  return {};
}

std::string in_cache_text(std::string_view cache) {
  return fmt::format("is in a cache of {}, where a file's name is its checksum", cache);
}

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
