#include "model/model_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/name_index.h"
#include "base/not_found.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/gguf/split_set.h"
#include "formats/pytorch/parse.h"
#include "formats/safetensors/index.h"
#include "formats/safetensors/parse.h"
#include "formats/safetensors/shard_set.h"
#include "io/hash.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "model/download_record.h"
#include "model/format.h"

namespace modelutils {

namespace {

std::string joined(const std::string& folder, std::string_view name) {
  return folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
}

// Returns the first bytes of a regular file; nullopt for other files and if it cannot be read.
std::optional<std::string> head_of(const std::string& path) {
  const int descriptor = os::open(path, os::reading | os::no_wait);
  if (descriptor < 0) return std::nullopt;
  const auto status = os::status(descriptor);
  std::string head(file_kind_bytes, '\0');
  const i64 size = status && status->is_file() ? os::read_at(descriptor, head.data(), head.size(), 0) : -1;
  os::close(descriptor);
  if (size < 0) return std::nullopt;
  head.resize(static_cast<std::size_t>(size));
  return head;
}

void count(TreeRest::Kind& kind, const std::string& first) {
  if (kind.count++ == 0) kind.first = first;
}

class Walk {
 public:
  Walk(const std::string& root, const TreeOptions& options, const std::function<bool(TreeEntry)>& found)
      : root_(root), options_(options), found_(found) {}

  TreeRest run() {
    if (enter(root_)) visit(root_, "");
    return std::move(rest_);
  }

 private:
  // The relevant names of one folder.
  struct Folder {
    const std::string& path;
    const std::string& below;  // path relative to the root: "" or "sub/"
    DirectoryNames names = {};
    bool has_config = false;
    bool has_weights = false;
    bool has_index = false;
    bool has_checkpoints = false;
    bool has_manifests = false;  // Ollama's
    // Names of files that belong to the folder's own entry.
    std::vector<std::string> covered = {};

    bool covers(std::string_view name) const { return std::ranges::binary_search(covered, name); }
  };

  bool is_excluded(const std::string& below, std::string_view name) const {
    if (options_.exclude.empty()) return false;
    const std::string path = below + std::string(name);
    return std::ranges::any_of(options_.exclude, [&](const std::string& pattern) {
      return glob_match(pattern, name) || glob_match(pattern, path);
    });
  }

  // True on the first visit of a directory. Only links can lead to one twice.
  bool enter(const std::string& path) {
    if (options_.links != OutsideLinks::follow) return true;
    const auto there = os::status(path);
    return !there || folders_.insert(there->device, there->inode);  // if it fails, opening it will report the reason
  }

  void visit(const std::string& path, const std::string& below) {
    Folder folder{path, below};
    auto names =
        DirectoryNames::read(path, [&](std::string_view name, EntryKind kind) { return keep(folder, name, kind); });
    if (!names) {
      const bool is_gone = !os::status(path) && errno == ENOENT;  // removed since the folder was listed
      if (!is_gone)
        stopped_ = stopped_ || !found_({.path = path, .folder = below, .problem = std::move(names.error())});
      return;
    }
    folder.names = std::move(*names);
    folder.has_manifests = is_ollama_manifest(joined(path, "tag"));
    if (is_cache(folder)) {
      stopped_ = stopped_ || !found_({.path = path, .folder = below, .is_cache = true});
    }
    find_folder_model(folder);
    for (std::size_t i = 0; i < folder.names.size() && !stopped_; ++i) visit_file(folder, i);
    for (std::size_t i = 0; i < folder.names.size() && !stopped_; ++i) visit_folder(folder, i);
  }

  static bool is_cache(const Folder& folder) {
    const DirectoryNames& names = folder.names;
    if (is_hub_repository(folder) || has_ollama_blobs(folder) || has_shared_blobs(folder)) return true;
    return names.contains(".cache") && is_present(joined(folder.path, ".cache/huggingface/download"));
  }
  static bool is_hub_repository(const Folder& folder) {
    const std::string& path = folder.path;
    const std::string name = base_name_of(path.ends_with('/') ? path.substr(0, path.size() - 1) : path);
    return name.starts_with("models--") && (folder.names.contains("snapshots") || folder.names.contains("blobs"));
  }
  static bool has_ollama_blobs(const Folder& folder) {
    return folder.names.contains("manifests") && folder.names.contains("blobs");
  }

  static bool has_shared_blobs(const Folder& folder) {
    return folder.names.contains("blobs") && is_shared_blobs(joined(folder.path, "blobs"));
  }

  // Decides by name alone which names to keep, since a folder may have a million files.
  bool keep(Folder& folder, std::string_view name, EntryKind kind) {
    if (kind == EntryKind::other || is_excluded(folder.below, name)) return false;
    if (kind == EntryKind::directory) {
      if (is_bookkeeping_folder(name)) return false;
      const bool is_no_model = name.starts_with("datasets--") || name.starts_with("spaces--");
      if (is_no_model) count(rest_.datasets, folder.below + std::string(name));
      return !is_no_model;
    }
    if (name.starts_with('.')) return kind == EntryKind::link;  // may be a link to a directory
    switch (class_of_name(name)) {
      case NameClass::safetensors: return folder.has_weights = true;
      case NameClass::index: return folder.has_index = true;
      case NameClass::checkpoint: return folder.has_checkpoints = true;
      case NameClass::gguf:
      case NameClass::bump:
      case NameClass::unknown: return true;
      case NameClass::config: folder.has_config = true; break;
      case NameClass::unfinished: count(rest_.unfinished, folder.below + std::string(name)); break;
      case NameClass::other: break;
    }
    if (kind == EntryKind::link) return true;
    ++rest_.files;
    return false;
  }

  // Finds a model that consists of the whole folder. Such a model is one entry, and its files are not listed as others.
  void find_folder_model(Folder& folder) {
    if (folder.has_index || (folder.has_config && (folder.has_weights || folder.has_checkpoints))) {
      const safetensors::Folder weights(joined(folder.path, ""));
      const std::optional<std::string> index = weights.index();
      const bool reads_index = index && !weights.holds_checkpoints();
      folder.covered = reads_index ? shards_of(folder, weights, *index) : weights.model_files();
      if (index) folder.covered.push_back(*index);
      for (std::string& name : weights.variant_files()) {
        if (std::ranges::find(folder.covered, name) == folder.covered.end()) folder.covered.push_back(std::move(name));
      }
      std::vector<std::string> beside = weights.prediction_files();
      if (!beside.empty())
        std::ranges::copy_if(weights.indexes, std::back_inserter(beside), safetensors::is_prediction_name);
      for (std::string& name : beside) {
        if (std::ranges::find(folder.covered, name) == folder.covered.end()) folder.covered.push_back(std::move(name));
      }
    } else if (folder.has_weights) {
      folder.covered = only_set(folder.names);
      if (folder.covered.empty()) return;
    } else {
      if (folder.has_config) count(rest_.side_files, folder.below + "config.json");
      return;
    }
    std::vector<std::string> files = folder.covered;
    if (folder.has_config) files.emplace_back("config.json");
    std::ranges::sort(folder.covered);
    hand_over({.path = folder.path, .folder = folder.below}, folder, files);
  }

  // Returns the files that the index names, and files that the index's rules report as unlisted. Reads the index only
  // if the names alone do not determine them: for unusual file names, or files in sub-folders.
  std::vector<std::string> shards_of(const Folder& folder, const safetensors::Folder& weights,
                                     const std::string& index) const {
    std::vector<std::string> files;
    for (const std::string& name : weights.weights) {
      if (name.starts_with("model")) files.push_back(name);
    }
    bool has_folders = false;
    for (std::size_t i = 0; i < folder.names.size(); ++i) {
      const EntryKind kind = folder.names.kind(i);
      has_folders = has_folders || kind == EntryKind::directory ||
                    (kind == EntryKind::link && options_.links == OutsideLinks::follow);
    }
    if (files.size() == weights.weights.size() && !has_folders) return files;
    auto opened = open_in_folder(weights.path, index);
    if (!opened) return weights.weights;
    const auto parsed = safetensors::parse_index(*opened->file);
    if (!parsed || !parsed->usable) return weights.weights;  // the set then consists of the existing files
    files.insert(files.end(), parsed->shards.begin(), parsed->shards.end());
    return files;
  }

  // Returns the weights of a folder without config.json and index, if they are one file or the shards of one model.
  static std::vector<std::string> only_set(const DirectoryNames& names) {
    std::vector<std::string> files;
    std::optional<safetensors::ShardName> first;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = names.name(i);
      if (names.kind(i) == EntryKind::directory || class_of_name(name) != NameClass::safetensors) continue;
      const auto shard = safetensors::shard_name(name);
      if (!files.empty() && !(first && shard && shard->prefix == first->prefix && shard->count == first->count)) {
        return {};
      }
      if (files.empty()) first = shard;
      files.emplace_back(name);
    }
    return files;
  }

  void visit_file(const Folder& folder, std::size_t number) {
    const std::string_view name = folder.names.name(number);
    const EntryKind kind = folder.names.kind(number);
    if (kind == EntryKind::directory || folder.covers(name)) return;
    const std::string path = joined(folder.path, name);
    if (kind == EntryKind::link && os::is_folder(path)) return;  // visited by visit_folder()
    TreeEntry entry{.path = path, .folder = folder.below};
    if (folder.has_manifests) {
      entry.is_manifest = true;
      return hand_over(std::move(entry), folder, {std::string(name)});
    }
    switch (class_of_name(name)) {
      case NameClass::gguf: return visit_set(std::move(entry), folder, number, gguf_set(name));
      case NameClass::safetensors: {
        const std::string set = shard_set(name);
        entry.is_shard_group = !set.empty();
        return visit_set(std::move(entry), folder, number, set);
      }
      case NameClass::bump:
      case NameClass::index: return hand_over(std::move(entry), folder, {std::string(name)});
      case NameClass::config:
      case NameClass::unfinished:
      case NameClass::other: ++rest_.files; return;
      case NameClass::checkpoint:
      case NameClass::unknown: break;
    }
    const std::optional<std::string> head = head_of(path);
    if (head && is_model(*head, name)) return hand_over(std::move(entry), folder, {std::string(name)});
    ++rest_.files;
    const FileKind found = head ? file_kind(*head) : FileKind::unknown;
    if (found != FileKind::unknown && found != FileKind::empty)
      count(rest_.kinds[found], folder.below + std::string(name));
  }

  // For a file whose name does not show its kind.
  static bool is_model(std::string_view head, std::string_view name) {
    const FileKind kind = file_kind(head);
    return kind == FileKind::gguf || kind == FileKind::bumpwgt || safetensors::is_safetensors(head, "") ||
           pytorch::is_checkpoint(head, name);
  }

  // Returns the common part of the names of a split model's files; empty for a model in one file.
  static std::string gguf_set(std::string_view name) {
    const auto split = gguf::parse_split_name(name);
    return split && split->count > 1 ? fmt::format("{}-of-{}.gguf", split->prefix, split->count) : std::string();
  }
  static std::string shard_set(std::string_view name) {
    const auto shard = safetensors::shard_name(name);
    return shard && shard->count > 1 ? fmt::format("{}-of-{}.safetensors", shard->prefix, shard->count) : std::string();
  }

  // Reports only the first file of a set.
  void visit_set(TreeEntry entry, const Folder& folder, std::size_t number, const std::string& set) {
    const std::string_view own = folder.names.name(number);
    if (set.empty()) return hand_over(std::move(entry), folder, {std::string(own)});
    const std::string text = entry.folder + set;
    const std::string key = xxh3_digest(std::as_bytes(std::span(text)));
    u64 halves[2];
    std::memcpy(halves, key.data(), sizeof halves);
    if (!sets_.insert(halves[0], halves[1])) return;
    std::vector<std::string> files;
    const std::string_view prefix = own.substr(0, set.rfind("-of-"));
    for (std::size_t i = number; i < folder.names.size() && folder.names.name(i).starts_with(prefix); ++i) {
      const std::string_view name = folder.names.name(i);
      if (gguf_set(name) == set || shard_set(name) == set) files.emplace_back(name);
    }
    hand_over(std::move(entry), folder, files);
  }

  void visit_folder(const Folder& folder, std::size_t number) {
    const std::string_view name = folder.names.name(number);
    const EntryKind kind = folder.names.kind(number);
    const std::string path = joined(folder.path, name);
    if (kind == EntryKind::link && (options_.links != OutsideLinks::follow || !os::is_folder(path))) return;
    if (kind != EntryKind::directory && kind != EntryKind::link) return;
    // In a cache, the files of a revision are links to the blobs. Blobs without a link belong to no revision.
    if (name == "blobs" && ((is_hub_repository(folder) && folder.names.contains("snapshots")) ||
                            has_ollama_blobs(folder) || is_shared_blobs(path))) {
      return;
    }
    if (enter(path)) visit(path, folder.below + std::string(name) + '/');
  }

  // Returns a number for the repository of a Hugging Face cache that contains the folder; nullopt outside caches.
  static std::optional<u64> repository_of(const Folder& folder) {
    const auto place = hub_place(normal_path(joined(folder.path, "any")));
    if (!place) return std::nullopt;
    const std::string digest = xxh3_digest(std::as_bytes(std::span(place->repository)));
    u64 number = 0;
    std::memcpy(&number, digest.data(), sizeof number);
    return number;
  }

  // Reports a model with these files of the folder, unless it was reported before or is excluded.
  void hand_over(TreeEntry entry, const Folder& folder, const std::vector<std::string>& files) {
    bool is_new = files.empty() || (options_.all_revisions && hub_place(normal_path(folder.path)));
    bool is_newer = !options_.newer_than;
    const std::optional<u64> repository = repository_of(folder);
    for (const std::string& name : files) {
      const auto status = os::status(joined(folder.path, name));
      if (!status) {
        is_new = is_newer = true;  // verifying it will report the problem
        continue;
      }
      entry.bytes += status->size;
      // Repositories of a cache share files, but each has its own models.
      const bool is_first = files_.insert(status->device, status->inode);
      if (repository ? files_.insert(status->device ^ *repository, status->inode) : is_first) is_new = true;
      if (options_.newer_than && status->modified > *options_.newer_than) is_newer = true;
    }
    if (!is_new) {
      ++rest_.repeated;
    } else if (!is_newer) {
      ++rest_.left_out;
    } else if (!found_(std::move(entry))) {
      stopped_ = true;
    }
  }

  const std::string& root_;
  const TreeOptions& options_;
  const std::function<bool(TreeEntry)>& found_;
  TreeRest rest_;
  PairSet folders_;  // device and inode
  PairSet files_;    // device and inode
  PairSet sets_;     // hashes of their names
  bool stopped_ = false;
};

void add_kind(std::string& text, const TreeRest::Kind& kind, std::string_view one, std::string_view many) {
  if (kind.count == 0) return;
  text += text.empty() ? "; what is there: " : ", ";
  if (kind.count == 1) {
    text += fmt::format("{} ('{}')", one, kind.first);
  } else {
    text += fmt::format("{} {} ('{}' is the first)", thousands(kind.count), many, kind.first);
  }
}

}  // namespace

TreeRest walk_models(const std::string& root, const TreeOptions& options,
                     const std::function<bool(TreeEntry entry)>& found) {
  return Walk(root, options, found).run();
}

std::string rest_text(const TreeRest& rest) {
  std::string text;
  for (const auto& [kind, files] : rest.kinds) {
    add_kind(text, files, file_kind_text(kind), fmt::format("files, each {}", file_kind_text(kind)));
  }
  add_kind(text, rest.unfinished, "an unfinished download", "unfinished downloads");
  add_kind(text, rest.side_files, "a configuration without weights", "configurations without weights");
  add_kind(text, rest.datasets, "a repository of a cache that holds no model",
           "repositories of a cache that hold no models");
  if (rest.files > 0) text += (text.empty() ? "; what is there: " : "; in all ") + counted(rest.files, "file");
  return text;
}

}  // namespace modelutils
