// Published checksums are about a folder: also about files that are not part of a model's weights.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/counted.h"
#include "base/path.h"
#include "io/directory_names.h"
#include "io/model_folder.h"
#include "model/download_record.h"
#include "model/tree_names.h"
#include "rules/wording.h"
#include "verify/manifest/hash_run.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

namespace {

namespace fs = std::filesystem;

std::string folder_of_manifest(const std::string& path) {
  const std::string folder = path == "-" ? std::string() : folder_of(path);
  return normal_path(folder.empty() ? "." : folder);
}

}  // namespace

std::string ManifestCheck::published_name(const std::string& path) const {
  const std::string name = fs::path(normal_path(path)).lexically_relative(folder_of_manifest(manifest_.path)).string();
  return name.empty() || name.starts_with("..") ? base_name_of(path) : name;
}

// Is the file, by its normal path, one of those that were given, or in one of the folders?
bool ManifestCheck::is_given(const std::string& path) const {
  return std::ranges::any_of(paths_, [&](std::string given) {
    if (given.ends_with('/')) given.pop_back();
    return path == given || (path.starts_with(given) && path[given.size()] == '/');
  });
}

// Is the file a link to elsewhere? Then that is said.
bool ManifestCheck::leads_out(const std::string& name, FindingLog& log) const {
  if (follow_links_) return false;
  const auto opened = open_in_folder(folder_of_manifest(manifest_.path), name);
  if (!opened || !opened->is_outside) return false;
  log.error(Scope::data, "manifest-link",
            "is a symbolic link that leads out of the folder of the checksums, so it is not compared; use "
            "--follow-links to accept it",
            at_file(name));
  return true;
}

void ManifestCheck::check_other_files(unsigned threads, FindingLog& log, Progress* progress) const {
  const std::string folder = folder_of_manifest(manifest_.path);
  Catalog files;
  std::vector<HashJob> jobs;
  std::vector<const ManifestEntry*> entries;
  u64 not_asked = 0;
  std::string first_not_asked;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    const ManifestEntry& entry = manifest_.entries[i];
    if (used_[i]) continue;
    auto opened = open_in_folder(folder, entry.file);
    if (!opened) {
      const bool is_there = is_present(ModelFolder(folder).file(entry.file));
      log.error(Scope::data, is_there ? "io-open" : "manifest-missing-file",
                is_there ? opened.error().message : "is in the list of checksums, but is not there",
                at_file(entry.file));
      continue;
    }
    if (leads_out(entry.file, log)) continue;
    if (!is_given((fs::path(folder) / entry.file).lexically_normal().string())) {
      if (not_asked++ == 0) first_not_asked = entry.file;
      continue;
    }
    const u64 size = opened->file->file_size();
    if (entry.bytes && *entry.bytes != size) {
      log.error(Scope::data, "manifest-differs",
                fmt::format("has {}, but {} in the manifest", counted(size, "byte"), *entry.bytes),
                at_file(entry.file));
      continue;
    }
    jobs.push_back({entry.algorithm, {{files.files.size(), 0, size}}, entry.is_git_blob ? git_blob_prefix(size) : ""});
    files.files.push_back({opened->file->name(), entry.file, std::move(opened->file)});
    entries.push_back(&entry);
  }
  const auto digests = run_hashes(files, jobs, threads, progress);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (!digests[i]) {
      log.add(without_path(digests[i].error(), Scope::data, entries[i]->file));
    } else if (*digests[i] != entries[i]->hex) {
      log.error(Scope::data, "manifest-differs",
                fmt::format("{} is {}, but {} in the manifest", hash_name(entries[i]->algorithm), *digests[i],
                            entries[i]->hex),
                at_file(entries[i]->file));
    }
  }
  if (not_asked > 0) {
    log.note(Scope::data, "manifest-not-asked",
             fmt::format("the list of checksums has {} that {} not asked for", counted(not_asked, "other file"),
                         verb(not_asked, "was", "were")),
             at_file(first_not_asked));
  }
  for (const std::string& path : paths_) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) list_extra_files(path, log);
  }
}

// Files that the list lacks. Weights without a checksum are errors of their models already.
void ManifestCheck::list_extra_files(const std::string& folder, FindingLog& log) const {
  std::vector<std::string> listed;
  for (const ManifestEntry& entry : manifest_.entries) listed.push_back(entry.file);
  std::ranges::sort(listed);
  const std::string manifest = normal_path(manifest_.path);
  std::vector<std::string> open = {folder};
  while (!open.empty()) {
    const std::string current = std::move(open.back());
    open.pop_back();
    const auto names = DirectoryNames::read(current, [](std::string_view name, EntryKind kind) {
      return !name.starts_with('.') && kind != EntryKind::other && !is_bookkeeping_folder(name);
    });
    if (!names) continue;  // whoever looks for models says it
    for (std::size_t i = 0; i < names->size(); ++i) {
      const std::string path = ModelFolder(current).file(names->name(i));
      const NameClass of = class_of_name(names->name(i));
      if (names->kind(i) == EntryKind::directory) {
        open.push_back(path);
      } else if (of != NameClass::gguf && of != NameClass::safetensors && of != NameClass::bump && path != manifest &&
                 !std::ranges::binary_search(listed, published_name(path))) {
        log.note(Scope::data, "manifest-extra-file", "is not in the list of checksums", at_file(published_name(path)));
      }
    }
  }
}

}  // namespace modelutils
