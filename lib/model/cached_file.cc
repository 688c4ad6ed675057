#include "model/cached_file.h"

#include <filesystem>

#include "io/directory_names.h"
#include "model/download_record.h"

namespace modelutils {

namespace fs = std::filesystem;

namespace {

constexpr int most_entries = 100000;  // over all snapshots of a repository

std::string first_of(const std::string& directory, EntryKind wanted, std::string_view ending) {
  const auto names = DirectoryNames::read(directory, [&](std::string_view name, EntryKind kind) {
    return (kind == wanted || (wanted == EntryKind::file && kind == EntryKind::link)) && name.ends_with(ending);
  });
  return names && names->size() > 0 ? std::string(names->name(0)) : std::string();
}

}  // namespace

std::optional<std::string> snapshot_file(const std::string& path) {
  if (const std::string root = shared_blob_root(path); !root.empty()) {
    for (const SharedLink& link : shared_links(root)) {
      if (link.target != fs::path(path).filename()) continue;
      const std::optional<HubPlace> at = hub_place(normal_path(link.blob));
      if (!at) continue;  // it belongs to no repository
      auto file = at->is_blob ? snapshot_file(link.blob) : std::optional(link.blob);
      if (file) return file;
    }
    return std::nullopt;
  }
  const std::optional<HubPlace> place = hub_place(normal_path(path));
  if (!place || !place->is_blob || place->name.empty() || place->name.find('/') != std::string::npos) {
    return std::nullopt;
  }
  // Keep the path as the user gave it, for messages.
  const std::string below = "blobs/" + place->name;
  const std::string repository =
      path.ends_with(below) ? path.substr(0, path.size() - below.size()) : place->repository + "/";
  std::optional<std::string> found;
  std::error_code failed;
  int entries = 0;
  for (auto entry = fs::recursive_directory_iterator(repository + "snapshots", failed);
       !failed && entry != fs::recursive_directory_iterator() && ++entries < most_entries; entry.increment(failed)) {
    std::error_code no_link;
    const fs::path target = fs::read_symlink(entry->path(), no_link);
    if (no_link || target.filename() != place->name) continue;
    std::string file = entry->path().string();
    if (!found || file < *found) found = std::move(file);
  }
  return found;
}

std::string gguf_in(const std::string& directory) {
  return first_of(directory, EntryKind::file, ".gguf");
}

std::string snapshot_in(const std::string& directory) {
  if (!hub_place(normal_path(directory) + "/snapshots/any")) return {};
  const std::string revision = first_of(directory + "/snapshots", EntryKind::directory, "");
  return revision.empty() ? revision : "snapshots/" + revision;
}

}  // namespace modelutils
