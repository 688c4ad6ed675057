#include "verify/cache/download_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/os/files.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/text.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "model/download_record.h"
#include "model/format.h"
#include "verify/manifest/check.h"

namespace modelutils {

namespace {

Result<std::string> digest_of(const RandomAccessFile& file, HashAlgorithm algorithm, Progress* progress) {
  Hasher hasher(algorithm);
  const u64 size = file.file_size();
  if (algorithm == HashAlgorithm::sha1) {
    const std::string header = git_blob_prefix(size);
    hasher.update(std::as_bytes(std::span(header)));
  }
  std::vector<std::byte> buffer(hash_buffer_bytes);
  for (u64 done = 0; done < size;) {
    const MutableBytes bytes(buffer.data(), static_cast<std::size_t>(std::min<u64>(buffer.size(), size - done)));
    MU_TRY(file.read_exact(done, bytes));
    hasher.update(bytes);
    done += bytes.size();
    if (progress != nullptr) progress->advance(bytes.size());
  }
  return hasher.hex_digest();
}

std::string of_revision(const DownloadRecord& record) {
  return record.revision.empty() ? std::string() : " of revision " + record.revision;
}

std::string algorithm_text(HashAlgorithm algorithm) {
  return algorithm == HashAlgorithm::sha1 ? "SHA-1 as a Git blob" : "SHA-256";
}

}  // namespace

Result<std::string> DigestMemo::digest(const std::string& path, HashAlgorithm algorithm, Progress* progress) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  const auto status = os::status(file->descriptor());
  if (!status) return digest_of(*file, algorithm, progress);
  const Key key{status->device, status->inode, algorithm};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  MU_ASSIGN(std::string digest, digest_of(*file, algorithm, progress));
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(digest)).first->second;
}

std::set<std::string> check_downloads(const std::vector<DownloadedFile>& files, const DownloadCheck& options,
                                      DigestMemo& memo, ThreadBudget& threads, FindingLog& log, Progress* progress) {
  std::set<std::string> missing;
  struct Comparison {
    const DownloadedFile* file;
    DownloadRecord record;
    Result<std::string> digest = {};
  };
  std::vector<Comparison> comparisons;
  DownloadRecords records;
  for (const DownloadedFile& file : files) {
    DownloadRecord record = records.find(file.path);
    if (record.is_missing) {
      missing.insert(file.name);
      const auto unfinished = record.blob.empty() ? std::nullopt : os::status(record.blob + ".incomplete");
      log.add(
          {.scope = Scope::container,
           .code = "cache-blob-missing",
           .message = fmt::format(
               "incomplete: the link{} leads to {}, which is not there{}; download the model "
               "again",
               of_revision(record),
               record.blob.empty() ? std::string("a file") : "the blob " + base_name_of(record.blob),
               unfinished ? fmt::format("; there is an unfinished download of {}", byte_text(unfinished->size)) : ""),
           .file = file.name,
           .leads = true});
      continue;
    }
    if (record.is_outside && !options.follow_links &&
        file.name.empty()) {  // models with several files report it by their own rules
      log.warning(Scope::container, "cache-link-outside",
                  "is a symbolic link that leads out of the download cache; check where it points");
    }
    const auto there = os::status(file.path);
    const bool has_size = there.has_value();
    const u64 size = has_size ? there->size : 0;
    if (has_size && record.bytes && size != *record.bytes) {
      if (options.is_broken) continue;  // the file's own rules have reported what is missing
      log.error(Scope::container, "cache-blob-size",
                size < *record.bytes ? incomplete_text(size, *record.bytes)
                                     : fmt::format("has {} bytes, but the cache says {}{}", thousands(size),
                                                   thousands(*record.bytes), of_revision(record)),
                {}, {}, file.name);
      continue;
    }
    if (!options.authentic || !has_size) continue;
    if (record.expected) {
      comparisons.push_back({&file, std::move(record)});
    } else if (file.has_weights && !record.is_outside) {
      log.warning(Scope::data, "cache-no-record",
                  "cannot be checked with --authentic: no download cache says what its content should be", {}, {},
                  file.name);
    }
  }
  const ThreadBudget::Share share(threads);
  const Status done = parallel_for(comparisons.size(), share.threads(), [&](u64 item, unsigned) -> Status {
    Comparison& comparison = comparisons[static_cast<std::size_t>(item)];
    comparison.digest = memo.digest(comparison.file->path, comparison.record.expected->algorithm, progress);
    return {};
  });
  (void)done;  // each comparison keeps its own result
  for (const Comparison& comparison : comparisons) {
    const ExpectedContent& expected = *comparison.record.expected;
    if (!comparison.digest) {
      log.add(without_path(comparison.digest.error(), Scope::data, comparison.file->name));
    } else if (*comparison.digest != expected.hex) {
      log.error(
          Scope::data, "cache-not-authentic",
          fmt::format("is not what was published{}: its {} is {}, but should be {}; delete it and download it "
                      "again",
                      comparison.record.revision.empty() ? std::string() : " as revision " + comparison.record.revision,
                      algorithm_text(expected.algorithm), *comparison.digest, expected.hex),
          {}, {}, comparison.file->name);
    }
  }
  return missing;
}

namespace {

// A group of files: their number, their total size and the name of the first.
struct Some {
  u64 count = 0;
  u64 bytes = 0;
  std::string first;

  void add(const std::string& path, std::string_view name) {
    auto there = os::status(path);
    if (!there) there = os::link_status(path);
    if (there) bytes += there->size;
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
      // The names of shared blobs are not checksums of the content, so --authentic cannot check them here. The
      // repositories' own blobs have checksums.
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
