#include "verify/cache/cache_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <set>

#include "base/counted.h"
#include "base/numbers.h"
#include "base/path.h"
#include "io/directory_names.h"
#include "io/download_cache.h"
#include "io/model_folder.h"
#include "model/download_record.h"
#include "model/ollama_manifest.h"
#include "model/tree_names.h"

namespace modelutils {

namespace {

// A group of files: their number, their total size and the name of the first.
struct Some {
  u64 count = 0;
  u64 bytes = 0;
  std::string first;

  void add(const std::string& path, std::string_view name) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 || ::lstat(path.c_str(), &status) == 0)
      bytes += static_cast<u64>(status.st_size);
    if (count++ == 0) first = name;
  }
};

class CacheFolder {
 public:
  CacheFolder(const std::string& path, FindingLog& log) : path_(path), log_(log) {}

  std::vector<std::string> run() {
    const std::string records = path_ + "/.cache/huggingface/download";
    if (is_present(records)) {
      for_files(records, "", [&](const std::string& file, std::string_view name, EntryKind) {
        if (name.ends_with(".incomplete")) unfinished_.add(file, base_name_of(name));
      });
    }
    const std::string manifests = path_ + "/manifests";
    const bool is_ollama = is_present(manifests);
    const bool is_shared =
        !is_ollama && !hub_place(normal_path(path_ + "/blobs/any")) && is_shared_blobs(path_ + "/blobs");
    if (is_shared) {
      for (SharedLink& link : shared_links(path_)) used_.insert(std::move(link.target));
      check_blobs(path_ + "/blobs");
      // These names are not checksums of the content, so --authentic has nothing to compare here. The repositories' own
      // blobs have checksums.
      unused_paths_.clear();
      tell();
      return {};
    }
    if (is_ollama) {
      for_files(manifests, "", [&](const std::string& file, std::string_view, EntryKind) { use_manifest(file); });
    } else if (is_present(path_ + "/snapshots")) {
      for_files(path_ + "/snapshots", "", [&](const std::string& file, std::string_view name, EntryKind kind) {
        if (kind == EntryKind::link) use_link(file, name);
      });
    }
    if (is_present(path_ + "/blobs")) check_blobs(path_ + "/blobs");
    tell();
    return std::move(unused_paths_);
  }

 private:
  using Visit = std::function<void(const std::string& path, std::string_view name, EntryKind kind)>;

  // Visits every file below a folder; does not follow links.
  void for_files(const std::string& folder, const std::string& below, const Visit& visit) {
    const auto names = DirectoryNames::read(folder, [](std::string_view, EntryKind) { return true; });
    if (!names) {
      if (is_present(folder)) log_.add(without_path(names.error(), Scope::container, below));
      return;
    }
    for (std::size_t i = 0; i < names->size(); ++i) {
      const std::string name = below + std::string(names->name(i));
      const std::string file = folder + '/' + std::string(names->name(i));
      if (names->kind(i) == EntryKind::directory) {
        for_files(file, name + '/', visit);
      } else {
        visit(file, name, names->kind(i));
      }
    }
  }

  void use_manifest(const std::string& path) {
    const auto manifest = read_ollama_manifest(path);
    if (!manifest) {
      has_broken_manifest_ = true;  // the blobs in use are unknown
      return;
    }
    for (const OllamaLayer& layer : manifest->layers) used_.insert("sha256-" + layer.hex);
  }

  void use_link(const std::string& path, std::string_view name) {
    const DownloadRecord record = records_.find(path);
    if (!record.blob.empty()) used_.insert(base_name_of(record.blob));
    if (!record.is_missing || has_weights(folder_of(path))) return;  // otherwise the model in that folder reports it
    log_.error(Scope::container, "cache-blob-missing",
               record.blob.empty()
                   ? std::string("is a link to a file that is not there")
                   : fmt::format("is a link to the blob {}, which is not there", base_name_of(record.blob)),
               at_file(name));
  }

  bool has_weights(const std::string& folder) {
    if (folder != last_folder_) {
      last_folder_ = folder;
      const auto names = DirectoryNames::read(folder, [](std::string_view name, EntryKind kind) {
        if (kind == EntryKind::directory) return false;
        const NameClass of = class_of_name(name);
        return of == NameClass::gguf || of == NameClass::safetensors || of == NameClass::index;
      });
      last_has_weights_ = names && names->size() > 0;
    }
    return last_has_weights_;
  }

  void check_blobs(const std::string& folder) {
    for_files(folder, "", [&](const std::string& file, std::string_view name, EntryKind) {
      if (name.ends_with(".incomplete") || name.find("-partial") != name.npos) {
        unfinished_.add(file, name);
        return;
      }
      std::string usual(name);
      if (usual.starts_with("sha256:")) usual[6] = '-';
      usual = base_name_of(usual);
      if (used_.contains(usual) || has_broken_manifest_) return;
      if (!expected_content(usual) && !ollama_blob(name)) return;  // not a blob
      unused_.add(file, name);
      unused_paths_.push_back(file);
    });
  }

  void tell() {
    if (unfinished_.count > 0) {
      log_.note(Scope::model, "cache-unfinished",
                fmt::format("{} ({}): {} still running, or {} interrupted",
                            counted(unfinished_.count, "unfinished download"), byte_text(unfinished_.bytes),
                            unfinished_.count == 1 ? "it is" : "they are", verb(unfinished_.count, "was", "were")),
                at_file(unfinished_.first));
    }
    if (unused_.count > 0) {
      log_.note(Scope::model, "cache-blob-unused",
                fmt::format("{} ({}) that no model uses", counted(unused_.count, "blob"), byte_text(unused_.bytes)),
                at_file(unused_.first));
    }
  }

  std::string path_;
  FindingLog& log_;
  DownloadRecords records_;
  std::set<std::string> used_;  // names of blobs in use
  bool has_broken_manifest_ = false;
  std::string last_folder_;
  bool last_has_weights_ = false;
  Some unfinished_, unused_;
  std::vector<std::string> unused_paths_;
};

}  // namespace

std::vector<std::string> check_cache_folder(const std::string& path, FindingLog& log) {
  return CacheFolder(path.ends_with('/') ? path.substr(0, path.size() - 1) : path, log).run();
}

}  // namespace modelutils
