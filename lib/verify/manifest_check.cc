#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <utility>

#include "base/counted.h"
#include "verify/hash_run.h"
#include "verify/manifest.h"
#include "verify/wording.h"

namespace modelutils {

namespace {

using Subject = ManifestEntry::Subject;

// Splits the "PATH/FILE:TENSOR" or "PATH/FILE" of a text manifest for a known base name of the file. Nothing if it is
// about another file. The tensor is null for the form without one.
struct SplitSubject {
  std::optional<std::string_view> tensor;
};
std::optional<SplitSubject> split_for(std::string_view subject, std::string_view base_name) {
  if (base_name.empty()) return std::nullopt;
  for (std::size_t at = subject.find(base_name); at != std::string_view::npos; at = subject.find(base_name, at + 1)) {
    const std::size_t end = at + base_name.size();
    if (at != 0 && subject[at - 1] != '/' && subject[at - 1] != '\\') continue;
    if (end == subject.size()) return SplitSubject{};
    if (subject[end] == ':') return SplitSubject{subject.substr(end + 1)};
  }
  return std::nullopt;
}

// Foreign manifests may come from Windows.
std::string_view name_without_folders(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

// The file that a text manifest's subject most likely names: up to ".gguf", else up to the last colon.
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
    case Subject::tensor: return tensor_where(entry.tensor);
    case Subject::file: return "file '" + entry.file + "'";
    case Subject::all_tensors: return "all tensors of '" + entry.file + "'";
  }
  return {};
}

}  // namespace

ManifestCheck::ManifestCheck(Manifest manifest, bool single_model)
    : manifest_(std::move(manifest)), used_(manifest_.entries.size(), false), single_model_(single_model) {}

// The names of one model's tensors, file by file, and what of the manifest is about them.
class ManifestCheck::Plan {
 public:
  /// `names`: base names of the catalog's files as the manifest knows them.
  Plan(const Catalog& catalog, std::vector<std::string> names)
      : base_names_(std::move(names)), tensors_(catalog.files.size()) {
    for (std::size_t i = 0; i < base_names_.size(); ++i) files_.emplace(base_names_[i], i);
    for (std::size_t i = 0; i < catalog.tensors.size(); ++i) {
      tensors_[catalog.tensors[i].file][catalog.tensors[i].name].push_back(i);
    }
  }

  const std::string& base_name(std::size_t file) const { return base_names_[file]; }

  /// The file that the entry is about; sets what a text manifest leaves open.
  std::optional<std::size_t> file_of(ManifestEntry& entry) const {
    if (!entry.unsplit.empty()) {
      for (std::size_t i = 0; i < base_names_.size(); ++i) {
        if (const auto split = split_for(entry.unsplit, base_names_[i])) {
          entry.subject = split->tensor ? Subject::tensor : Subject::all_tensors;
          entry.tensor = split->tensor.value_or(std::string_view());
          return i;
        }
      }
      return std::nullopt;
    }
    if (entry.file.empty()) return base_names_.size() == 1 ? std::optional<std::size_t>(0) : std::nullopt;
    const auto found = files_.find(entry.file);
    return found == files_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Number of the tensor that the entry is about. A broken file may have one name twice: the entries take them in
  /// turn.
  std::optional<std::size_t> tensor_of(const ManifestEntry& entry, std::size_t file) {
    const auto found = tensors_[file].find(entry.tensor);
    if (found == tensors_[file].end()) return std::nullopt;
    std::size_t& turn = turns_[{found->second.front(), entry.algorithm}];
    return found->second[std::min(turn++, found->second.size() - 1)];
  }

 private:
  std::vector<std::string> base_names_;
  std::unordered_map<std::string_view, std::size_t> files_;
  std::vector<std::unordered_map<std::string_view, std::vector<std::size_t>>> tensors_;
  std::map<std::pair<std::size_t, HashAlgorithm>, std::size_t> turns_;
};

std::vector<std::string> ManifestCheck::names_in_manifest(const Catalog& catalog, FindingLog& log) const {
  std::vector<std::string> names;
  for (const CatalogFile& file : catalog.files) names.push_back(file.base_name);
  if (!single_model_ || names.size() != 1) return names;
  std::optional<std::string_view> only;
  for (const ManifestEntry& entry : manifest_.entries) {
    if (entry.unsplit.empty() ? entry.file.empty() || entry.file == names[0]
                              : split_for(entry.unsplit, names[0]).has_value()) {
      return names;
    }
    const std::string_view file = entry.unsplit.empty() ? std::string_view(entry.file) : guess_file(entry.unsplit);
    if (only && *only != file) return names;
    only = file;
  }
  log.add({Severity::note,
           Scope::model,
           "manifest-renamed",
           {},
           {},
           fmt::format("the manifest calls this file '{}'", *only),
           {}});
  names[0] = *only;
  return names;
}

void ManifestCheck::check_model(const Catalog& catalog, unsigned threads, FindingLog& log, Progress* progress) {
  Plan plan(catalog, names_in_manifest(catalog, log));
  std::vector<HashJob> jobs;
  std::vector<std::size_t> entry_of_job;
  std::vector<char> mentioned(catalog.tensors.size(), 0);
  std::vector<char> has_entries(catalog.files.size(), 0);
  std::vector<char> has_tensor_entries(catalog.files.size(), 0);

  for (std::size_t number = 0; number < manifest_.entries.size(); ++number) {
    ManifestEntry& entry = manifest_.entries[number];
    const auto file = plan.file_of(entry);
    if (!file) continue;
    used_[number] = true;
    has_entries[*file] = 1;
    entry.file = plan.base_name(*file);
    const std::string set_file = catalog.files.size() > 1 ? catalog.files[*file].base_name : std::string();
    const auto differs = [&](std::optional<u64> offset, std::string message) {
      log.add(
          {Severity::error, Scope::data, "manifest-differs", offset, where_of(entry), std::move(message), set_file});
    };
    HashJob job{entry.algorithm, {}};
    if (entry.subject == Subject::tensor) {
      has_tensor_entries[*file] = 1;
      const auto index = plan.tensor_of(entry, *file);
      if (!index) {
        log.add({Severity::error,
                 Scope::data,
                 "manifest-missing",
                 {},
                 where_of(entry),
                 "is in the manifest, but missing from the file or unreadable there",
                 set_file});
        continue;
      }
      mentioned[*index] = 1;
      const CatalogTensor& tensor = catalog.tensors[*index];
      if (entry.bytes && *entry.bytes != tensor.bytes) {
        differs(tensor.offset,
                fmt::format("has {}, but {} in the manifest", counted(tensor.bytes, "byte"), *entry.bytes));
        continue;
      }
      if (entry.offset && *entry.offset != tensor.offset) {
        differs(tensor.offset, fmt::format("is at byte {}, but at {} in the manifest", tensor.offset, *entry.offset));
        continue;
      }
      job.ranges.push_back({*file, tensor.offset, tensor.bytes});
    } else if (entry.subject == Subject::file) {
      const u64 size = catalog.files[*file].source->size().value_or(0);
      if (entry.bytes && *entry.bytes != size) {
        differs({}, fmt::format("has {}, but {} in the manifest", counted(size, "byte"), *entry.bytes));
        continue;
      }
      job.ranges.push_back({*file, 0, size});
    } else {
      for (const CatalogTensor& tensor : catalog.tensors) {
        if (tensor.file == *file) job.ranges.push_back({*file, tensor.offset, tensor.bytes});
      }
    }
    jobs.push_back(std::move(job));
    entry_of_job.push_back(number);
  }

  const auto digests = run_hashes(catalog, jobs, threads, progress);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ManifestEntry& entry = manifest_.entries[entry_of_job[i]];
    const std::size_t file = jobs[i].ranges.empty() ? 0 : jobs[i].ranges.front().file;
    if (!digests[i]) {
      log.add(read_failure(catalog, file, where_of(entry), digests[i].error()));
    } else if (*digests[i] != entry.hex) {
      std::optional<u64> offset;
      if (entry.subject == Subject::tensor) offset = jobs[i].ranges.front().offset;
      log.add({Severity::error, Scope::data, "manifest-differs", offset, where_of(entry),
               fmt::format("{} is {}, but {} in the manifest", hash_name(entry.algorithm), *digests[i], entry.hex),
               file_of_set(catalog, file)});
    }
  }

  for (std::size_t i = 0; i < catalog.files.size(); ++i) {
    if (has_entries[i]) continue;
    log.add({Severity::error,
             Scope::data,
             "manifest-new-file",
             {},
             "file '" + catalog.files[i].base_name + "'",
             "is not in the manifest",
             file_of_set(catalog, i)});
  }
  for (std::size_t i = 0; i < catalog.tensors.size(); ++i) {
    const CatalogTensor& tensor = catalog.tensors[i];
    if (mentioned[i] || !has_tensor_entries[tensor.file]) continue;
    log.add({Severity::error, Scope::data, "manifest-new", tensor.offset, tensor_where(tensor.name),
             "is not in the manifest", file_of_set(catalog, tensor.file)});
  }
}

void ManifestCheck::finish(FindingLog& log) const {
  // One finding for each file, however many lines it has.
  std::map<std::string, u64> missing;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) continue;
    const ManifestEntry& entry = manifest_.entries[i];
    ++missing[entry.unsplit.empty() ? entry.file : std::string(guess_file(entry.unsplit))];
  }
  for (const auto& [file, lines] : missing) {
    log.add({Severity::error,
             Scope::data,
             "manifest-missing-file",
             {},
             "file '" + file + "'",
             fmt::format("is in the manifest ({}), but was not verified", counted(lines, "checksum")),
             {}});
  }
  log.add_all(manifest_.remarks);
}

}  // namespace modelutils
