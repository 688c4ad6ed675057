// Published checksums cover a folder, including files that are not part of a model's weights.
#include <fmt/core.h>

#include <algorithm>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "model/download_record.h"
#include "model/format.h"
#include "rules/formats.h"
#include "verify/manifest/check.h"
#include "verify/manifest/entries.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

namespace {

std::string folder_of_manifest(const std::string& path) {
  const std::string folder = path == "-" ? std::string() : folder_of(path);
  return normal_path(folder.empty() ? "." : folder);
}

// Returns the name of `path` relative to `folder`; empty if it is not below it.
std::string name_below(const std::string& path, const std::string& folder) {
  const std::string name = path_from(normal_path(folder), normal_path(path));
  return name.empty() || name == "." || name.starts_with("..") ? std::string() : name;
}

}  // namespace

// Files that belong to no model, and their hash jobs.
struct ManifestCheck::Others {
  Catalog files;
  std::vector<HashJob> jobs;
  std::vector<ManifestEntry> entries;  // one per job
};

void ManifestCheck::prepare_published() {
  if (!manifest_->is_published) return;
  const std::string folder = folder_of_manifest(manifest_->path);
  for (const std::string& given : paths_) {
    const std::string name = name_below(given, folder);
    const std::string to_list = path_from(normal_path(given), folder);
    const bool holds_list = !to_list.empty() && !to_list.starts_with("..");
    if (holds_list || !name.empty()) given_below_.push_back(holds_list ? std::string() : name);
  }
}

std::string ManifestCheck::published_name(const std::string& path) {
  const std::string in_list = name_below(path, folder_of_manifest(manifest_->path));
  if (!in_list.empty() && !index_->about(in_list).empty()) return in_list;
  if (std::string absolute = normal_path(path); !index_->about(absolute).empty()) return absolute;
  for (const std::string& given : paths_) {
    const std::string name = name_below(path, given);
    if (name.empty() || index_->about(name).empty()) continue;
    is_of_operands_ = true;
    return name;
  }
  if (lists_alone_) return in_list.empty() ? path : in_list;
  const std::string base = base_name_of(path);
  if (const auto only = index_->only_name_with_base(base)) {
    std::string name(*only);
    if (!used_names_.contains(name)) {
      is_of_operands_ = true;
      return name;
    }
  }
  return in_list.empty() ? base : in_list;
}

// True if the name, relative to the list, is a given file or lies in a given folder.
bool ManifestCheck::is_given(std::string_view name) const {
  return std::ranges::any_of(given_below_, [&](const std::string& given) {
    return given.empty() || name == given || (name.starts_with(given) && name[given.size()] == '/');
  });
}

// True if the file is a link that leaves the folder; this is logged.
bool ManifestCheck::leads_out(const std::string& path, const std::string& name, FindingLog& log) const {
  if (follow_links_) return false;
  std::string folder = folder_of_manifest(manifest_->path);
  std::string below = name_below(path, folder);
  for (const std::string& given : paths_) {
    if (below.empty() && os::is_folder(given)) below = name_below(path, folder = given);
  }
  if (below.empty()) return false;
  const auto opened = open_in_folder(folder, below);
  if (!opened || !opened->is_outside) return false;
  log.error(Scope::data, "manifest-link",
            "is a symbolic link that leads out of the folder of the checksums, so it is not compared; use "
            "--follow-links to accept it",
            at_file(name));
  return true;
}

// Visits each file in the given folders once. Looking a file up in the list needs no file access.
void ManifestCheck::check_other_files(unsigned threads, FindingLog& log, Progress* progress) {
  Others others;
  for (const std::string& path : paths_) {
    if (os::is_folder(path)) {
      visit_files(path, others, log);
    } else if (const std::string name = published_name(path); !used_names_.contains(name)) {
      compare_later(path, name, others, log);  // not a model, or a model that could not be opened
    }
  }
  const auto digests = run_hashes(others.files, others.jobs, threads, progress);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const ManifestEntry& entry = others.entries[i];
    if (!digests[i]) {
      log.add(without_path(digests[i].error(), Scope::data, std::string(entry.file)));
    } else if (const std::string wanted = entry.hex(); *digests[i] != wanted) {
      log.error(Scope::data, "manifest-differs",
                fmt::format("{} is {}, but {} {}", hash_name(entry.algorithm), *digests[i], wanted, manifest_->wanted),
                at_file(entry.file));
    }
  }
  tell_what_is_missing(log);
  log.add_all(manifest_->remarks);
}

void ManifestCheck::tell_what_is_missing(FindingLog& log) const {
  u64 not_asked = 0;
  std::string first_not_asked;
  const bool has_folder = std::ranges::any_of(paths_, [](const std::string& path) { return os::is_folder(path); });
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) continue;
    const std::string_view name = manifest_->entries[i].file;
    if (os::is_absolute(name)) {
      log.error(Scope::data, "manifest-name",
                "is an absolute name that matches none of the given files, so it is not opened", at_file(name));
    } else if (is_given(name) || (has_folder && is_of_operands_)) {
      log.error(Scope::data, "manifest-missing-file", "is in the list of checksums, but does not exist", at_file(name));
    } else if (not_asked++ == 0) {
      first_not_asked = name;
    }
  }
  if (not_asked == 0) return;
  log.note(Scope::data, "manifest-not-asked",
           fmt::format("the list of checksums has {} that {} not given on the command line",
                       counted(not_asked, "other file"), verb(not_asked, "was", "were")),
           at_file(first_not_asked));
}

// Opens a file that belongs to no model and schedules its comparison.
void ManifestCheck::compare_later(const std::string& path, const std::string& name, Others& others, FindingLog& log) {
  const auto about = index_->about(name);
  if (about.empty()) return;
  used_names_.insert(name);
  for (const ManifestIndex::Match& match : about) used_[match.entry] = true;
  if (leads_out(path, name, log)) return;
  auto opened = RandomAccessFile::open(path);
  if (!opened) {
    log.error(Scope::data, "io-open", opened.error().message, at_file(name));
    return;
  }
  const u64 size = (*opened)->file_size();
  const std::size_t file = others.files.files.size();
  others.files.files.push_back({path, name, std::move(*opened)});
  for (const ManifestIndex::Match& match : about) {
    const ManifestEntry entry = manifest_->entries[match.entry];
    if (entry.bytes && *entry.bytes != size) {
      log.error(Scope::data, "manifest-differs",
                fmt::format("has {}, but {} in the manifest", counted(size, "byte"), *entry.bytes), at_file(name));
      continue;
    }
    others.jobs.push_back({entry.algorithm, {{file, 0, size}}, entry.is_git_blob ? git_blob_prefix(size) : ""});
    others.entries.push_back(entry);
  }
}

// Visits files on the list and files missing from it. Weights without a checksum were already reported with their
// model.
void ManifestCheck::visit_files(const std::string& folder, Others& others, FindingLog& log) {
  const std::string manifest = normal_path(manifest_->path);
  std::vector<std::string> open = {folder};
  while (!open.empty()) {
    const std::string current = std::move(open.back());
    open.pop_back();
    const auto names = DirectoryNames::read(current, [](std::string_view name, EntryKind kind) {
      return !name.starts_with('.') && kind != EntryKind::other && !is_bookkeeping_folder(name);
    });
    if (!names) continue;  // the search for models reports this
    for (std::size_t i = 0; i < names->size(); ++i) {
      const std::string path = ModelFolder(current).file(names->name(i));
      if (names->kind(i) == EntryKind::directory) {
        open.push_back(path);
        continue;
      }
      const std::string name = published_name(path);
      if (used_names_.contains(name)) continue;
      if (!index_->about(name).empty()) {
        compare_later(path, name, others, log);
        continue;
      }
      const NameClass of = class_of_name(names->name(i));
      const bool is_weights = of == NameClass::gguf || of == NameClass::safetensors || of == NameClass::bump;
      if (!is_weights && !lists_alone_ && normal_path(path) != manifest) {
        log.note(Scope::data, "manifest-extra-file", "is not in the list of checksums", at_file(name));
      }
    }
  }
}

}  // namespace modelutils
