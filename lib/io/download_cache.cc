#include "io/download_cache.h"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/path.h"

namespace modelutils {

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

}  // namespace modelutils
