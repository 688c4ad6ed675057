#include "io/model_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "io/random_access_file.h"
#include "io/remote_address.h"

namespace modelutils {

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
  bool is_too_long = false;
  const bool is_listed = os::list(directory.empty() ? "." : directory, [&](std::string_view name, EntryKind kind) {
    if (!keep(name, kind)) return true;
    is_too_long = names.text_.size() > std::numeric_limits<u32>::max() - name.size();
    if (is_too_long) return false;
    names.names_.push_back({static_cast<u32>(names.text_.size()), kind});
    names.text_.append(name).push_back('\0');
    return true;
  });
  if (is_too_long) return failed("cannot be listed: ", EOVERFLOW);
  if (!is_listed) return failed("cannot be opened: ", errno);
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

}  // namespace

bool is_hub_repository_name(std::string_view base_name) {
  constexpr std::array<std::string_view, 4> kinds = {"models--", "datasets--", "spaces--", "kernels--"};
  return std::any_of(kinds.begin(), kinds.end(), [&](std::string_view kind) { return base_name.starts_with(kind); });
}

bool is_shared_blobs(const std::string& path) {
  if (os::link_status(path + "/" + std::string(shared_mark))) return true;
  bool is_beside_repositories = false;
  os::list(path + "/..", [&](std::string_view name, EntryKind) {
    is_beside_repositories = is_hub_repository_name(name);
    return !is_beside_repositories;
  });
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
    const std::optional<std::string> folder = os::resolve(folder_of(at).empty() ? "." : folder_of(at));
    if (!folder || name.empty() || name == "." || name == "..") return false;
    at = *folder == "/" ? "/" + name : *folder + "/" + name;
    if (!is_in_hub_cache(root, at)) return false;
    const std::optional<std::string> to = os::read_link(at);
    if (!to) return os::link_status(at).has_value();
    at = os::is_absolute(*to) ? *to : *folder + "/" + *to;
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

tl::unexpected<Error> open_error(const std::string& path, int reason) {
  return input_error("io-open", "cannot be opened: " + errno_text(reason), {}, {}, path);
}

bool is_below(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) && path.substr(directory.size()).starts_with('/');
}

Result<FolderFile> follow_link(const std::string& folder, const std::string& path) {
  const std::optional<std::string> target = os::resolve(path);
  if (!target) return open_error(path, errno);
  const std::optional<std::string> home = os::resolve(folder);
  if (!home) return open_error(path, errno);
  const std::string cache = hub_cache_root(*home);
  const std::size_t root = os::root_size(*target);
  bool last = false;
  const int descriptor = os::open_without_links(target->substr(0, root), target->substr(root), last);
  if (descriptor < 0) return open_error(path, errno);
  const bool is_outside = cache.empty() ? !is_below(*target, *home)
                                        : !stays_in_hub_cache(cache, *target) || !stays_in_hub_cache(cache, path);
  MU_ASSIGN(auto file, RandomAccessFile::adopt(path, descriptor));
  return FolderFile{std::move(file), is_outside, false};
}

// Names taken from a model's file must stay within its folder at an address, too.
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
  return os::link_status(path) || (errno != ENOENT && errno != ENOTDIR);
}

Result<std::vector<std::string>> list_if_present(const std::string& directory) {
  std::vector<std::string> names;
  if (is_address(directory)) {
    MU_ASSIGN(std::vector<RemoteName> there, remote_names(directory));
    for (RemoteName& name : there) names.push_back(std::move(name.name));
    return names;
  }
  const auto add = [&](std::string_view name, EntryKind) {
    names.emplace_back(name);
    return true;
  };
  if (!os::list(directory.empty() ? "." : directory, add)) {
    if (names.empty() && (errno == ENOENT || errno == ENOTDIR)) return names;
    return open_error(directory, errno);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<FolderFile> open_in_folder(const std::string& folder, std::string_view name) {
  const std::string path = ModelFolder(folder).file(name);
  if (is_address(folder)) return open_at_address(folder, name, path);
  const std::string home = folder.empty() ? "." : folder;
  bool last = false;
  const int descriptor = os::open_without_links(home, name, last);
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
