#include "verify/manifest/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/parallel.h"
#include "base/path.h"
#include "base/text.h"
#include "model/download_record.h"
#include "rules/formats.h"
#include "verify/manifest/blake2b.h"
#include "verify/manifest/entries.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

namespace {

u64 job_bytes(const HashJob& job) {
  u64 bytes = 0;
  for (const HashRange& range : job.ranges) bytes += range.bytes;
  return bytes;
}

// State that a thread reuses between jobs.
struct Worker {
  std::array<std::optional<Hasher>, hash_algorithms>
      hashers;  // by algorithm; creating a hasher costs more than hashing a small tensor
  std::vector<std::byte> buffer;

  Hasher& fresh(HashAlgorithm algorithm) {
    std::optional<Hasher>& hasher = hashers[static_cast<std::size_t>(algorithm)];
    if (hasher) {
      hasher->reset();
    } else {
      hasher = hasher_for(algorithm);
    }
    return *hasher;
  }
};

Result<std::string> run_job(const Catalog& catalog, const HashJob& job, Worker& worker, Progress* progress) {
  worker.buffer.resize(hash_buffer_bytes);
  Hasher& hasher = worker.fresh(job.algorithm);
  hasher.update(std::as_bytes(std::span(job.prefix)));
  for (const HashRange& range : job.ranges) {
    for (u64 done = 0; done < range.bytes;) {
      const std::size_t size = static_cast<std::size_t>(std::min<u64>(hash_buffer_bytes, range.bytes - done));
      const MutableBytes bytes(worker.buffer.data(), size);
      MU_TRY(catalog.files[range.file].source->read_exact(range.offset + done, bytes));
      hasher.update(bytes);
      done += size;
      if (progress != nullptr) progress->advance(size);
    }
  }
  return hasher.hex_digest();
}

}  // namespace

std::string git_blob_prefix(u64 size) {
  return "blob " + std::to_string(size) + std::string(1, '\0');
}

std::vector<Result<std::string>> run_hashes(const Catalog& catalog, std::span<const HashJob> jobs, unsigned threads,
                                            Progress* progress) {
  std::vector<u64> sizes(jobs.size());
  std::transform(jobs.begin(), jobs.end(), sizes.begin(), job_bytes);
  if (progress != nullptr) progress->restart("hashing", std::accumulate(sizes.begin(), sizes.end(), u64{0}));
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });

  std::vector<Result<std::string>> digests(jobs.size());
  std::vector<Worker> workers(threads);
  const Status status = parallel_for(jobs.size(), threads, [&](u64 item, unsigned thread) -> Status {
    const std::size_t job = order[static_cast<std::size_t>(item)];
    digests[job] = run_job(catalog, jobs[job], workers[thread], progress);
    return {};
  });
  (void)status;  // each job keeps its own result
  return digests;
}

namespace {

using Subject = ManifestEntry::Subject;

// Manifests written by other tools may come from Windows.
std::string_view name_without_folders(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

// Guesses the file name in a text manifest's subject: up to ".gguf", otherwise up to the last colon.
std::string_view guess_file(std::string_view subject) {
  constexpr std::string_view extension = ".gguf";
  if (const std::size_t at = subject.find(".gguf:"); at != std::string_view::npos) {
    return name_without_folders(subject.substr(0, at + extension.size()));
  }
  if (subject.ends_with(extension)) return name_without_folders(subject);
  return name_without_folders(subject.substr(0, subject.rfind(':')));
}

std::string where_of(const ManifestEntry& entry) {
  switch (entry.subject) {
    case Subject::tensor: return at_tensor(entry.tensor);
    case Subject::file: return at_file(entry.file);
    case Subject::all_tensors: return fmt::format("all tensors of '{}'", entry.file);
  }
  return {};
}

}  // namespace

ManifestCheck::ManifestCheck(Manifest manifest, bool single_model, std::vector<std::string> paths, bool follow_links,
                             bool lists_alone)
    : manifest_(std::make_shared<const Manifest>(std::move(manifest))),
      index_(std::make_shared<ManifestIndex>(manifest_->entries)),
      used_(manifest_->entries.size(), false),
      single_model_(single_model),
      paths_(std::move(paths)),
      follow_links_(follow_links),
      lists_alone_(lists_alone) {
  prepare_published();
  std::ranges::transform(paths_, paths_.begin(), normal_path);
}

// A manifest entry matched to one of the model's files.
struct ManifestCheck::Claim {
  std::size_t entry = 0;
  std::size_t file = 0;
  std::string_view rest = {};  // as in ManifestIndex::Match
};

std::vector<ManifestCheck::Claim> ManifestCheck::claims(const std::vector<std::string>& names) const {
  std::vector<Claim> all;
  for (std::size_t file = 0; file < names.size(); ++file) {
    for (const ManifestIndex::Match& match : index_->about(names[file])) all.push_back({match.entry, file, match.rest});
  }
  if (names.size() == 1 && unnamed_taken_by_.value_or(names[0]) == names[0]) {
    for (const std::size_t entry : index_->unnamed()) all.push_back({entry, 0, {}});
  }
  // If an entry matches several files, the first file gets it.
  std::sort(all.begin(), all.end(),
            [](const Claim& a, const Claim& b) { return a.entry != b.entry ? a.entry < b.entry : a.file < b.file; });
  all.erase(std::unique(all.begin(), all.end(), [](const Claim& a, const Claim& b) { return a.entry == b.entry; }),
            all.end());
  return all;
}

// The tensors of one model by file, and the hash jobs over them. Each piece is hashed once per algorithm, however often
// the manifest lists it.
class ManifestCheck::Plan {
 public:
  explicit Plan(const Catalog& catalog) : catalog_(catalog), tensors_(catalog.files.size()), in_file_(tensors_.size()) {
    for (std::size_t i = 0; i < catalog.tensors.size(); ++i) {
      const Tensor& tensor = catalog.tensors[i];
      if (!tensor.is_readable()) continue;
      tensors_[tensor.file][tensor.name].push_back(i);
      in_file_[tensor.file].push_back(i);
    }
  }

  /// Returns the number of the tensor that the entry is about. A broken file may contain a name twice; successive
  /// entries of that name then get successive tensors.
  std::optional<std::size_t> tensor_of(const ManifestEntry& entry, std::size_t file) {
    const auto found = tensors_[file].find(entry.tensor);
    if (found == tensors_[file].end()) return std::nullopt;
    std::size_t& turn = turns_[{found->second.front(), entry.algorithm}];
    return found->second[std::min(turn++, found->second.size() - 1)];
  }

  /// Returns the number of the job that hashes the entry's subject. `tensor` is used only if the subject is a tensor.
  std::size_t job_of(const ManifestEntry& entry, std::size_t file, std::size_t tensor) {
    const JobKey key{entry.subject, entry.subject == Subject::tensor ? tensor : file, entry.algorithm,
                     entry.is_git_blob};
    const auto [found, is_new] = job_numbers_.emplace(key, jobs_.size());
    if (is_new) {
      HashJob& job = jobs_.emplace_back(HashJob{entry.algorithm, {}});
      if (entry.is_git_blob) job.prefix = git_blob_prefix(catalog_.files[file].source->size().value_or(0));
      const auto add = [&](const Tensor& piece) { job.ranges.push_back({file, piece.offset, piece.bytes}); };
      switch (entry.subject) {
        case Subject::tensor: add(catalog_.tensors[tensor]); break;
        case Subject::file: job.ranges.push_back({file, 0, catalog_.files[file].source->size().value_or(0)}); break;
        case Subject::all_tensors:
          for (const std::size_t each : in_file_[file]) add(catalog_.tensors[each]);
          break;
      }
    }
    return found->second;
  }

  std::span<const HashJob> jobs() const { return jobs_; }

 private:
  using JobKey = std::tuple<Subject, std::size_t, HashAlgorithm, bool>;

  const Catalog& catalog_;
  std::vector<std::unordered_map<std::string_view, std::vector<std::size_t>>> tensors_;
  std::vector<std::vector<std::size_t>> in_file_;
  std::map<std::pair<std::size_t, HashAlgorithm>, std::size_t> turns_;
  std::map<JobKey, std::size_t> job_numbers_;
  std::vector<HashJob> jobs_;
};

std::vector<std::string> ManifestCheck::names_in_manifest(const Catalog& catalog, FindingLog& log) {
  std::vector<std::string> names;
  for (const CatalogFile& file : catalog.files) {
    names.push_back(manifest_->is_published ? published_name(file.path) : file.base_name);
  }
  if (!single_model_ || names.size() != 1 || manifest_->is_published) return names;
  if (!index_->unnamed().empty() || !index_->about(names[0]).empty()) return names;
  std::optional<std::string_view> only;
  for (std::size_t i = 0; i < manifest_->entries.size(); ++i) {
    const ManifestEntry entry = manifest_->entries[i];
    const std::string_view file = entry.unsplit.empty() ? entry.file : guess_file(entry.unsplit);
    if (only && *only != file) return names;
    only = file;
  }
  log.note(Scope::model, "manifest-renamed", fmt::format("the manifest calls this file '{}'", *only));
  names[0] = *only;
  return names;
}

// Compares one model with its entries: first by sizes and offsets, then by hashes.
class ManifestCheck::Comparison {
 public:
  Comparison(const Catalog& catalog, std::string_view wanted, FindingLog& log)
      : catalog_(catalog),
        wanted_(wanted),
        log_(log),
        plan_(catalog),
        mentioned_(catalog.tensors.size(), false),
        has_entries_(catalog.files.size(), false),
        has_tensor_entries_(catalog.files.size(), false) {}

  void mention(std::size_t file) { has_entries_[file] = true; }

  /// Checks size and offset; if they match, schedules the content for hashing.
  void add(const ManifestEntry& entry, std::size_t file) {
    std::optional<std::size_t> tensor = 0;
    if (entry.subject == Subject::tensor) {
      has_tensor_entries_[file] = true;
      tensor = find_tensor(entry, file);
    } else if (entry.subject == Subject::file) {
      const u64 size = catalog_.files[file].source->size().value_or(0);
      if (!has_size(entry, file, size, {})) return;
    }
    if (tensor) hashed_.push_back({entry, plan_.job_of(entry, file, *tensor), file});
  }

  void compare_digests(unsigned threads, Progress* progress) const {
    const auto digests = run_hashes(catalog_, plan_.jobs(), threads, progress);
    for (const Hashed& hashed : hashed_) {
      const ManifestEntry& entry = hashed.entry;
      const Result<std::string>& digest = digests[hashed.job];
      if (!digest) {
        log_.add(read_failure(catalog_, hashed.file, where_of(entry), digest.error()));
      } else if (const std::string wanted = entry.hex(); *digest != wanted) {
        std::optional<u64> offset;
        if (entry.subject == Subject::tensor) offset = plan_.jobs()[hashed.job].ranges.front().offset;
        differs(entry, hashed.file, offset,
                fmt::format("{} is {}, but {} {}", hash_name(entry.algorithm), *digest, wanted, wanted_));
      }
    }
  }

  /// Reports files without an entry, and in files with tensor entries the tensors without one.
  void tell_what_is_new() const {
    for (std::size_t i = 0; i < catalog_.files.size(); ++i) {
      if (has_entries_[i]) continue;
      log_.error(Scope::data, "manifest-new-file", "is not in the manifest", at_file(catalog_.files[i].base_name), {},
                 file_of_set(catalog_, i));
    }
    for (std::size_t i = 0; i < catalog_.tensors.size(); ++i) {
      const Tensor& tensor = catalog_.tensors[i];
      if (mentioned_[i] || !tensor.is_readable() || !has_tensor_entries_[tensor.file]) continue;
      log_.error(Scope::data, "manifest-new", "is not in the manifest", at_tensor(tensor.name), tensor.offset,
                 file_of_set(catalog_, tensor.file));
    }
  }

 private:
  struct Hashed {
    ManifestEntry entry;
    std::size_t job;
    std::size_t file;
  };

  void differs(const ManifestEntry& entry, std::size_t file, std::optional<u64> offset, std::string message) const {
    log_.error(Scope::data, "manifest-differs", std::move(message), where_of(entry), offset,
               file_of_set(catalog_, file));
  }

  bool has_size(const ManifestEntry& entry, std::size_t file, u64 size, std::optional<u64> offset) const {
    if (!entry.bytes || *entry.bytes == size) return true;
    differs(entry, file, offset, fmt::format("has {}, but {} in the manifest", counted(size, "byte"), *entry.bytes));
    return false;
  }

  // Returns the tensor's number if it exists with the entry's size and offset.
  std::optional<std::size_t> find_tensor(const ManifestEntry& entry, std::size_t file) {
    const std::optional<std::size_t> index = plan_.tensor_of(entry, file);
    if (!index) {
      log_.error(Scope::data, "manifest-missing", "is in the manifest, but is missing from the file or cannot be read",
                 where_of(entry), {}, file_of_set(catalog_, file));
      return std::nullopt;
    }
    mentioned_[*index] = true;
    const Tensor& tensor = catalog_.tensors[*index];
    if (!has_size(entry, file, tensor.bytes, tensor.offset)) return std::nullopt;
    if (entry.offset && *entry.offset != tensor.offset) {
      differs(entry, file, tensor.offset,
              fmt::format("is at byte {}, but at {} in the manifest", tensor.offset, *entry.offset));
      return std::nullopt;
    }
    return index;
  }

  const Catalog& catalog_;
  std::string_view wanted_;  // Manifest::wanted
  FindingLog& log_;
  Plan plan_;
  std::vector<Hashed> hashed_;
  std::vector<bool> mentioned_;           // by tensor
  std::vector<bool> has_entries_;         // by file
  std::vector<bool> has_tensor_entries_;  // by file
};

void ManifestCheck::check_model(const Catalog& catalog, unsigned threads, FindingLog& log, Progress* progress) {
  const std::vector<std::string> names = names_in_manifest(catalog, log);
  Comparison comparison(catalog, manifest_->wanted, log);
  for (const Claim& claim : claims(names)) {
    ManifestEntry entry = manifest_->entries[claim.entry];
    used_[claim.entry] = true;
    comparison.mention(claim.file);
    if (manifest_->is_published) used_names_.emplace(entry.file);
    if (manifest_->is_published && leads_out(catalog.files[claim.file].path, std::string(entry.file), log)) continue;
    if (!entry.unsplit.empty()) {
      entry.subject = claim.rest.empty() ? Subject::all_tensors : Subject::tensor;
      entry.tensor = claim.rest.empty() ? claim.rest : claim.rest.substr(1);
    }
    if (entry.name().empty()) unnamed_taken_by_ = names[claim.file];
    if (!entry.unsplit.empty() || entry.file.empty()) entry.file = names[claim.file];
    comparison.add(entry, claim.file);
  }
  comparison.compare_digests(threads, progress);
  if (!lists_alone_) comparison.tell_what_is_new();
}

void ManifestCheck::finish(FindingLog& log, unsigned threads, Progress* progress) {
  if (manifest_->is_published) return check_other_files(threads, log, progress);
  // One finding per file, regardless of the number of lines.
  std::map<std::string, u64> missing;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) continue;
    const ManifestEntry entry = manifest_->entries[i];
    ++missing[std::string(entry.unsplit.empty() ? entry.file : guess_file(entry.unsplit))];
  }
  for (const auto& [file, lines] : missing) {
    log.error(Scope::data, "manifest-missing-file",
              fmt::format("is in the manifest ({}), but was not verified; give it on the command line as well",
                          counted(lines, "checksum")),
              at_file(file));
  }
  log.add_all(manifest_->remarks);
}

}  // namespace modelutils
