#include "store/store_walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "io/model_folder.h"
#include "model/download_record.h"

namespace modelutils {

namespace {

constexpr std::string_view default_host = "registry.ollama.ai/";
constexpr std::string_view default_namespace = "library/";

// Returns the part of `path` below `root`.
std::string_view below_root(std::string_view path, std::string_view root) {
  path.remove_prefix(std::min(root.size(), path.size()));
  while (path.starts_with('/')) path.remove_prefix(1);
  return path;
}

void note_unfinished(const std::string& root, const TreeRest& rest, StoreWalk& walk) {
  if (rest.unfinished.count == 0) return;
  walk.notes.push_back({root, fmt::format("has {}, such as '{}'", counted(rest.unfinished.count, "unfinished download"),
                                          rest.unfinished.first)});
}

// Names models by the folder that programs count as one model: a revision, PUBLISHER/MODEL. If it has one model only,
// the folder's name is enough.
class GroupNames {
 public:
  struct Names {
    std::string group;  // identifies the folder
    std::string brief;  // names it
    std::string full;   // names the file in it
  };

  void add(Names names, std::string_view path) {
    if (!is_companion_name(path)) ++models_[names.group];
    names_.push_back(std::move(names));
  }

  // Gives the entries their names, which were added in the same order.
  void apply(std::vector<StoredEntry>& entries, std::size_t first) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      StoredEntry& stored = entries[first + i];
      Names& names = names_[i];
      const bool is_only = models_[names.group] == 1 && !is_companion_name(stored.entry.path);
      stored.name = is_only ? std::move(names.brief) : std::move(names.full);
    }
  }

 private:
  std::map<std::string, u64> models_;
  std::vector<Names> names_;
};

class HubNames {
 public:
  explicit HubNames(std::string_view prefix) : prefix_(prefix) {}

  // Returns nullopt for a path that is in no revision.
  std::optional<GroupNames::Names> names_of(const std::string& path) {
    const auto place = hub_place(normal_path(path));
    if (!place || place->is_blob || place->revision.empty()) return std::nullopt;
    const std::string repository = hub_repository_of(base_name_of(place->repository));
    if (repository.empty()) return std::nullopt;
    if (place->repository != known_) {
      known_ = place->repository;
      commit_ = default_commit(known_);
    }
    constexpr std::size_t shown_digits = 12;
    std::string brief = fmt::format("{}:{}", prefix_, repository);
    if (place->revision != commit_) {
      brief += "@" + (is_commit(place->revision) ? place->revision.substr(0, shown_digits) : place->revision);
    }
    std::string full = place->name.empty() ? brief : brief + "/" + place->name;
    return GroupNames::Names{place->repository + "/" + place->revision, std::move(brief), std::move(full)};
  }

 private:
  std::string_view prefix_;
  std::string known_, commit_;
};

// Adds a repository of which only unfinished downloads are there.
void add_unfinished(const std::string& repository, std::string_view prefix, StoreWalk& walk) {
  StoredEntry stored{.name = fmt::format("{}:{}", prefix, hub_repository_of(base_name_of(repository))),
                     .store = prefix,
                     .is_unfinished = true};
  stored.entry.path = repository;
  bool is_any = false;
  os::list(repository + "/blobs", [&](std::string_view name, EntryKind) {
    if (!name.ends_with(".incomplete")) return true;
    is_any = true;
    if (const auto there = os::status(repository + "/blobs/" + std::string(name))) {
      stored.entry.bytes += there->size;
    }
    return true;
  });
  if (is_any) walk.entries.push_back(std::move(stored));
}

void walk_hub(const StoreRoot& root, StoreWalk& walk) {
  const std::string_view prefix = store_info(root.kind).name;
  HubNames hub(prefix);
  GroupNames groups;
  const std::size_t first = walk.entries.size();
  std::vector<std::string> repositories;
  std::set<std::string, std::less<>> with_models;
  // Models beside the repositories are not listed here; walk_flat() lists llama.cpp's.
  const TreeRest rest = walk_models(root.path, {}, [&](TreeEntry entry) {
    if (entry.problem) {
      walk.notes.push_back({entry.path, "is skipped: " + entry.problem->message});
    } else if (entry.is_cache) {
      if (base_name_of(entry.path).starts_with("models--")) repositories.push_back(entry.path);
    } else if (auto names = hub.names_of(entry.path)) {
      with_models.insert(std::string(entry.path.substr(0, entry.path.find("/snapshots/"))));
      groups.add(std::move(*names), entry.path);
      walk.entries.push_back({.name = {}, .store = prefix, .entry = std::move(entry)});
    }
    return true;
  });
  (void)rest;  // files beside the repositories
  groups.apply(walk.entries, first);
  for (const std::string& repository : repositories) {
    if (!with_models.contains(repository)) add_unfinished(repository, prefix, walk);
  }
}

void walk_ollama(const StoreRoot& root, StoreWalk& walk) {
  const std::string manifests = root.path + "/manifests";
  if (!os::is_folder(manifests)) return;
  walk_models(manifests, {}, [&](TreeEntry entry) {
    if (entry.problem) {
      walk.notes.push_back({entry.path, "is skipped: " + entry.problem->message});
    } else if (entry.is_manifest) {
      std::string name = "ollama:" + ollama_display_name(below_root(entry.path, manifests));
      walk.entries.push_back({.name = std::move(name), .store = "ollama", .entry = std::move(entry)});
    }
    return true;
  });
}

void walk_lm_studio(const StoreRoot& root, StoreWalk& walk) {
  GroupNames groups;
  const std::size_t first = walk.entries.size();
  const TreeRest rest = walk_models(root.path, {}, [&](TreeEntry entry) {
    if (entry.is_cache) return true;
    if (entry.problem) {
      walk.notes.push_back({entry.path, "is skipped: " + entry.problem->message});
      return true;
    }
    // The program finds exactly PUBLISHER/MODEL/FILE.gguf and directories PUBLISHER/MODEL.
    const std::string below(below_root(entry.path, root.path));
    const auto levels = std::ranges::count(below, '/');
    const std::size_t file = levels == 2 ? below.rfind('/') : below.size();
    if (levels < 1 || levels > 2) {
      groups.add({entry.path, entry.path, entry.path}, entry.path);
    } else {
      groups.add({below.substr(0, file), "lmstudio:" + below.substr(0, file), "lmstudio:" + below}, entry.path);
    }
    walk.entries.push_back({.name = {}, .store = "lmstudio", .entry = std::move(entry)});
    return true;
  });
  groups.apply(walk.entries, first);
  note_unfinished(root.path, rest, walk);
}

void walk_flat(const StoreRoot& root, StoreWalk& walk) {
  TreeOptions options;
  options.exclude = {"models--*"};
  const TreeRest rest = walk_models(root.path, options, [&](TreeEntry entry) {
    if (entry.is_cache || entry.problem || !entry.folder.empty()) return true;
    std::string name = "llama.cpp:" + std::string(below_root(entry.path, root.path));
    walk.entries.push_back({.name = std::move(name), .store = "llama.cpp", .entry = std::move(entry)});
    return true;
  });
  note_unfinished(root.path, rest, walk);
}

}  // namespace

void walk_store(const StoreRoot& root, StoreWalk& walk) {
  const auto there = os::status(root.path);
  if (!there && (errno == ENOENT || errno == ENOTDIR)) return;
  if (!there || (there->is_folder() && !os::may_enter(root.path))) {
    walk.notes.push_back(
        {root.path, fmt::format("is skipped: this user may not read it ({})", store_info(root.kind).title)});
    return;
  }
  if (!there->is_folder()) return;
  switch (root.layout) {
    case StoreLayout::ollama: return walk_ollama(root, walk);
    case StoreLayout::lm_studio: return walk_lm_studio(root, walk);
    case StoreLayout::hub: return walk_hub(root, walk);
    case StoreLayout::flat: return walk_flat(root, walk);
  }
}

Status walk_folder(const std::string& path, StoreWalk& walk) {
  const auto there = os::status(path);
  if (!there) return input_error("io-open", "cannot be opened: " + errno_text(errno), {}, {}, path);
  if (!there->is_folder()) {
    TreeEntry entry{.path = path, .folder = {}, .bytes = there->size};
    entry.is_manifest = is_ollama_manifest(path);
    walk.entries.push_back({.name = path, .entry = std::move(entry)});
    return {};
  }
  const TreeRest rest = walk_models(path, {}, [&](TreeEntry entry) {
    if (entry.is_cache) return true;
    if (entry.problem) {
      walk.notes.push_back({entry.path, "is skipped: " + entry.problem->message});
      return true;
    }
    walk.entries.push_back({.name = entry.path, .entry = std::move(entry)});
    return true;
  });
  note_unfinished(path, rest, walk);
  return {};
}

std::vector<std::string> store_model_names() {
  StoreWalk walk;
  for (const StoreRoot& root : all_store_roots()) walk_store(root, walk);
  std::vector<std::string> names;
  for (StoredEntry& stored : walk.entries) {
    if (!stored.is_unfinished) names.push_back(std::move(stored.name));
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string ollama_display_name(std::string_view below) {
  if (below.starts_with(default_host)) {
    below.remove_prefix(default_host.size());
    if (below.starts_with(default_namespace)) below.remove_prefix(default_namespace.size());
  }
  std::string name(below);
  if (const std::size_t slash = name.rfind('/'); slash != name.npos) name[slash] = ':';
  return name;
}

bool is_companion_name(std::string_view path) {
  const std::string base = base_name_of(path);
  return base.find("mmproj") != base.npos || base.find("imatrix") != base.npos;
}

std::string only_model_in(const std::string& folder) {
  if (!os::is_folder(folder)) return folder;
  std::string only;
  u64 models = 0;
  walk_models(folder, {}, [&](TreeEntry entry) {
    if (entry.is_cache || entry.problem || is_companion_name(entry.path)) return true;
    only = std::move(entry.path);
    return ++models < 2;
  });
  return models == 1 ? only : folder;
}

}  // namespace modelutils
