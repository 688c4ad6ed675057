#include "store/stores.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/os/files.h"
#include "base/os/process.h"
#include "base/path.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "io/remote_settings.h"
#include "json/reader.h"

namespace modelutils {

namespace {

constexpr u64 max_line_file = 64 * 1024;
constexpr u64 max_settings = u64{4} << 20;
constexpr std::size_t commit_length = 40;

constexpr std::array<StoreInfo, 4> infos = {{
    {StoreKind::ollama, "ollama", "Ollama", "ollama:NAME[:TAG]"},
    {StoreKind::lm_studio, "lmstudio", "LM Studio", "lmstudio:PUBLISHER/MODEL[/FILE]"},
    {StoreKind::hub, "hf", "Hugging Face", "hf:ORG/REPO[@REVISION][/FILE]"},
    {StoreKind::llama_cpp, "llama.cpp", "llama.cpp", "llama.cpp:FILE or llama.cpp:ORG/REPO[/FILE]"},
}};

std::string without_last_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// Returns a folder that a variable or a settings file names; "~/" stands for the home folder.
std::string named_folder(std::string path) {
  path = os::from_native(std::move(path));
  if (path.starts_with("~/")) path = path_in(os::home_folder(), path.substr(2));
  return without_last_slash(std::move(path));
}

std::optional<std::string> folder_variable(const char* name, std::string_view below = {}) {
  auto value = environment_variable(name);
  if (!value) return std::nullopt;
  const std::string folder = named_folder(std::move(*value));
  return below.empty() ? folder : path_in(folder, below);
}

std::string in_home(std::string_view below) {
  const std::string home = os::home_folder();
  return home.empty() ? std::string() : path_in(home, below);
}

std::vector<std::string> ollama_roots() {
  std::vector<std::string> roots;
  roots.push_back(folder_variable("OLLAMA_MODELS").value_or(in_home(".ollama/models")));
  // The home of the user that Ollama's Linux service runs as.
  if (const std::string service = "/usr/share/ollama"; os::is_folder(service)) {
    roots.push_back(service + "/.ollama/models");
  }
  return roots;
}

std::string lm_studio_home() {
  if (auto home = folder_variable("LMSTUDIO_HOME")) return *home;
  if (std::string home = first_line_of(in_home(".lmstudio-home-pointer")); !home.empty()) {
    return named_folder(std::move(home));
  }
  const std::string older = in_home(".cache/lm-studio");
  return os::is_folder(older) ? older : in_home(".lmstudio");
}

std::string lm_studio_root() {
  const std::string home = lm_studio_home();
  if (home.empty()) return {};
  const std::string path = path_in(home, "settings.json");
  if (is_present(path)) {
    const auto settings = json::load(path, max_settings);
    const auto folder = settings ? json::string_member((*settings)->root, "downloadsFolder") : std::nullopt;
    if (folder && !folder->empty()) return named_folder(std::string(*folder));
  }
  return path_in(home, "models");
}

std::string hub_root() {
  if (auto root = folder_variable("HF_HUB_CACHE")) return *root;
  if (auto root = folder_variable("HUGGINGFACE_HUB_CACHE")) return *root;
  if (auto root = folder_variable("HF_HOME", "hub")) return *root;
  if (auto root = folder_variable("XDG_CACHE_HOME", "huggingface/hub")) return *root;
  return in_home(".cache/huggingface/hub");
}

std::string flat_root() {
  if (auto root = folder_variable("LLAMA_CACHE")) return *root;
  if (auto root = folder_variable("LOCALAPPDATA", "llama.cpp")) return *root;  // Windows
  // macOS, where llama.cpp ignores XDG_CACHE_HOME.
  if (const std::string caches = in_home("Library/Caches"); os::is_folder(caches)) return path_in(caches, "llama.cpp");
  if (auto root = folder_variable("XDG_CACHE_HOME", "llama.cpp")) return *root;
  return in_home(".cache/llama.cpp");
}

}  // namespace

const StoreInfo& store_info(StoreKind kind) {
  return *std::ranges::find(infos, kind, &StoreInfo::kind);
}

std::vector<StoreRoot> store_roots(StoreKind kind) {
  std::vector<StoreRoot> roots;
  const auto add = [&](StoreLayout layout, std::string path) {
    if (!path.empty()) roots.push_back({kind, layout, std::move(path)});
  };
  switch (kind) {
    case StoreKind::ollama:
      for (std::string& path : ollama_roots()) add(StoreLayout::ollama, std::move(path));
      break;
    case StoreKind::lm_studio: add(StoreLayout::lm_studio, lm_studio_root()); break;
    case StoreKind::hub: add(StoreLayout::hub, hub_root()); break;
    case StoreKind::llama_cpp:
      add(StoreLayout::hub, folder_variable("LLAMA_CACHE").value_or(hub_root()));
      add(StoreLayout::flat, flat_root());
      break;
  }
  return roots;
}

std::vector<StoreRoot> all_store_roots() {
  std::vector<StoreRoot> all;
  for (const StoreInfo& info : infos) {
    for (StoreRoot& root : store_roots(info.kind)) {
      const bool is_known = std::ranges::any_of(all, [&](const StoreRoot& other) {
        return other.layout == root.layout && normal_path(other.path) == normal_path(root.path);
      });
      if (!is_known) all.push_back(std::move(root));
    }
  }
  return all;
}

std::string first_line_of(const std::string& path) {
  if (path.empty() || !is_present(path)) return {};
  const auto file = RandomAccessFile::open(path);
  if (!file || (*file)->file_size() > max_line_file) return {};
  std::string text(static_cast<std::size_t>((*file)->file_size()), '\0');
  if (!(*file)->read_exact(0, std::as_writable_bytes(std::span(text)))) return {};
  text.resize(std::min(text.find('\n'), text.size()));
  constexpr std::string_view white = " \t\r";
  text.erase(text.find_last_not_of(white) + 1);
  text.erase(0, std::min(text.find_first_not_of(white), text.size()));
  return text;
}

std::string hub_folder_name(std::string_view repository) {
  std::string name = "models--";
  for (const char c : repository) name += c == '/' ? std::string("--") : std::string(1, c);
  return name;
}

std::string hub_repository_of(std::string_view folder_name) {
  constexpr std::string_view prefix = "models--";
  if (!folder_name.starts_with(prefix)) return {};
  std::string name(folder_name.substr(prefix.size()));
  if (const std::size_t mark = name.find("--"); mark != std::string::npos) name.replace(mark, 2, "/");
  return name;
}

bool is_commit(std::string_view text) {
  return text.size() == commit_length && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::string default_commit(const std::string& repository) {
  const auto snapshot_of = [&](const std::string& ref) {
    std::string commit = first_line_of(path_in(repository, "refs/" + ref));
    const bool is_there = is_commit(commit) && os::is_folder(path_in(repository, "snapshots/" + commit));
    return is_there ? commit : std::string();
  };
  if (std::string commit = snapshot_of("main"); !commit.empty()) return commit;
  const auto files = [](std::string_view, EntryKind kind) { return kind == EntryKind::file; };
  const auto refs = DirectoryNames::read(path_in(repository, "refs"), files);
  for (std::size_t i = 0; refs && i < refs->size(); ++i) {
    if (std::string commit = snapshot_of(std::string(refs->name(i))); !commit.empty()) return commit;
  }
  const std::string folder = path_in(repository, "snapshots");
  const auto snapshots = DirectoryNames::read(
      folder, [](std::string_view name, EntryKind kind) { return kind == EntryKind::directory && name[0] != '.'; });
  std::string newest;
  i64 time = 0;
  for (std::size_t i = 0; snapshots && i < snapshots->size(); ++i) {
    std::string name(snapshots->name(i));
    const auto there = os::status(path_in(folder, name));
    if (!there || (!newest.empty() && there->modified <= time)) continue;
    time = there->modified;
    newest = std::move(name);
  }
  return newest;
}

}  // namespace modelutils
