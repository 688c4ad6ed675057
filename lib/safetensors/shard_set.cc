#include "safetensors/shard_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/checked_math.h"
#include "base/counted.h"
#include "base/path.h"
#include "io/random_access_file.h"
#include "safetensors/finding_list.h"
#include "safetensors/folder.h"
#include "safetensors/parse.h"

namespace modelutils::safetensors {

namespace {

std::string tensor_text(std::string_view name) {
  return fmt::format("tensor '{}'", name);
}

/// Builds a set: opens files, merges their tensors, compares with the index.
class SetBuilder {
 public:
  explicit SetBuilder(ShardSet& set) : set_(set), findings_(set.findings) {}

  void add_file(std::string path, std::shared_ptr<ByteSource> source, Document document) {
    std::string base_name = base_name_of(path);
    set_.files.push_back({std::move(path), std::move(base_name), std::move(source), std::move(document)});
  }

  /// Opens files of the folder; what cannot be opened or is no safetensors file is a finding.
  void open_files(const Folder& folder, const std::vector<std::string>& base_names);
  void report_link(const Folder& folder, const std::string& base_name);
  void report_missing_siblings(const Folder& folder, const std::vector<std::string>& base_names);
  void report_unlisted(const Folder& folder);
  void merge();
  void finish() { findings_.finish(); }

  void add(Severity severity, std::string_view code, std::string_view file, std::string where, std::string message,
           std::optional<u64> offset = {}) {
    const std::size_t before = set_.findings.size();
    findings_.add(severity, code, offset, [&] { return FindingText{std::move(where), std::move(message)}; });
    if (set_.findings.size() != before) set_.findings.back().file = file;
  }

 private:
  static constexpr u32 no_file = ~u32{0};

  void merge_tensor(u32 file, u32 entry);
  void compare_with_index();
  void compare_total_size();
  /// Number of the file in set_.files that the index means, or no_file.
  u32 file_of(u32 shard) const { return shard_files_.empty() ? no_file : shard_files_[shard]; }

  ShardSet& set_;
  FindingList findings_;
  NameIndex index_names_;         // of the index's entries, by their place
  std::vector<u32> shard_files_;  // by shard of the index: place in set_.files
};

void SetBuilder::open_files(const Folder& folder, const std::vector<std::string>& base_names) {
  for (const std::string& name : base_names) {
    const std::string path = folder.path + name;
    auto file = RandomAccessFile::open(path);
    if (!file) {
      add(Severity::error, "st-shard-open", name, {}, std::move(file.error().message));
      continue;
    }
    report_link(folder, name);
    auto document = parse(**file);
    if (!document) {
      add(Severity::error, "st-shard-format", name, {}, std::move(document.error().message), document.error().offset);
      continue;
    }
    add_file(path, std::move(*file), std::move(*document));
  }
}

void SetBuilder::report_link(const Folder& folder, const std::string& base_name) {
  if (!leaves_folder(folder, base_name)) return;
  add(Severity::warning, "st-shard-symlink", base_name, {},
      "is a symbolic link that leads out of the model's directory (as in a download cache)");
}

void SetBuilder::report_missing_siblings(const Folder& folder, const std::vector<std::string>& base_names) {
  std::vector<std::pair<std::string_view, u64>> reported;
  for (const std::string& name : base_names) {
    const std::optional<ShardName> shard = shard_name(name);
    if (!shard) continue;
    const std::pair<std::string_view, u64> group(shard->prefix, shard->count);
    if (std::find(reported.begin(), reported.end(), group) != reported.end()) continue;
    reported.push_back(group);
    if (const std::optional<MissingShards> missing = missing_siblings(folder, *shard)) {
      add(Severity::error, "st-shard-incomplete", name, {},
          fmt::format(
              "is part {} of {}, but {} of these files {} missing (the first is number {}), and there is no index",
              shard->number, shard->count, missing->count, missing->count == 1 ? "is" : "are", missing->first));
    }
  }
}

void SetBuilder::report_unlisted(const Folder& folder) {
  for (const std::string& name : folder.weights) {
    if (name.starts_with("model") && !std::binary_search(set_.index->shards.begin(), set_.index->shards.end(), name)) {
      add(Severity::warning, "st-shard-unlisted", name, {}, "the index does not list this file");
    }
  }
}

void SetBuilder::merge() {
  if (set_.index) {
    const std::vector<IndexEntry>& entries = set_.index->entries;
    index_names_.reserve(entries.size());
    for (const IndexEntry& entry : entries) index_names_.insert(entry.tensor);  // each once: numbered as they stand
    for (const std::string& shard : set_.index->shards) {
      const auto file = std::find_if(set_.files.begin(), set_.files.end(),
                                     [&](const ShardFile& candidate) { return candidate.base_name == shard; });
      shard_files_.push_back(file == set_.files.end() ? no_file : static_cast<u32>(file - set_.files.begin()));
    }
  }
  std::size_t total = 0;
  for (const ShardFile& file : set_.files) total += file.document.tensors.size();
  set_.tensors.reserve(total);
  if (set_.files.size() == 1 && set_.files.front().document.names.size() == total) {
    for (u32 entry = 0; entry < total; ++entry) set_.tensors.push_back({0, entry});  // find() uses the document's names
  } else {
    set_.names.reserve(total);
    for (u32 file = 0; file < set_.files.size(); ++file) {
      const std::size_t tensors = set_.files[file].document.tensors.size();
      for (u32 entry = 0; entry < tensors; ++entry) merge_tensor(file, entry);
    }
  }
  if (set_.index && set_.index->usable) {
    compare_with_index();
    compare_total_size();
  }
}

void SetBuilder::merge_tensor(u32 file, u32 entry) {
  const Tensor& tensor = set_.files[file].document.tensors[entry];
  const auto [number, is_new] = set_.names.insert(tensor.name);
  if (is_new) {
    set_.tensors.push_back({file, entry});
    return;
  }
  TensorRef& first = set_.tensors[number];
  set_.repeated.push_back({file, entry});
  if (first.file == file) return;  // the document's own finding
  add(Severity::error, "st-shard-two-files", set_.files[file].base_name, tensor_text(tensor.name),
      fmt::format("is also in '{}'", set_.files[first.file].base_name), tensor.entry_offset);
  const std::optional<u32> named = index_names_.find(tensor.name);
  if (named && file_of(set_.index->entries[*named].shard) == file) std::swap(first, set_.repeated.back());
}

void SetBuilder::compare_with_index() {
  const std::string index_name = base_name_of(set_.index_path);
  for (const TensorRef ref : set_.tensors) {
    const Tensor& tensor = set_.tensor(ref);
    if (index_names_.find(tensor.name)) continue;
    add(Severity::error, "st-index-lacks-tensor", set_.file(ref).base_name, tensor_text(tensor.name),
        "the index does not list this tensor", tensor.entry_offset);
  }
  for (const IndexEntry& entry : set_.index->entries) {
    const u32 file = file_of(entry.shard);
    if (file == no_file || !set_.files[file].document.complete) continue;  // that is a finding of its own
    const std::optional<TensorRef> found = set_.find(entry.tensor);
    if (found && found->file == file) continue;
    add(Severity::error, "st-shard-lacks-tensor", index_name, tensor_text(entry.tensor),
        fmt::format("is not in '{}', where the index says it is{}", set_.files[file].base_name,
                    found ? fmt::format(", but in '{}'", set_.file(*found).base_name) : ""),
        entry.offset);
  }
}

void SetBuilder::compare_total_size() {
  const bool is_whole = std::all_of(set_.files.begin(), set_.files.end(), [](const ShardFile& file) {
    return first_container_error(file.document.findings) == nullptr;
  });
  if (!set_.index->total_size || !is_whole || first_container_error(set_.findings) != nullptr) return;
  u64 bytes = 0;
  for (const TensorRef ref : set_.tensors) {
    const std::optional<u64> sum = checked_add(bytes, set_.tensor(ref).bytes());
    if (!sum) return;  // offsets out of this world: findings of their own
    bytes = *sum;
  }
  if (bytes == *set_.index->total_size) return;
  add(Severity::warning, "st-index-total-size", base_name_of(set_.index_path), "metadata",
      fmt::format("total_size is {}, but the tensors have {}", *set_.index->total_size, counted(bytes, "byte")));
}

/// Reads the index and opens what it names; or, if it cannot be used, what lies in the folder.
Status open_indexed(ShardSet& set, const Folder& folder) {
  SetBuilder builder(set);
  const std::string index_name = base_name_of(set.index_path);
  auto file = RandomAccessFile::open(set.index_path);
  if (!file) {
    if (!set.is_directory) return tl::make_unexpected(std::move(file.error()));
    builder.add(Severity::error, "st-index-open", index_name, {}, std::move(file.error().message));
  } else {
    builder.report_link(folder, index_name);
    MU_ASSIGN(ShardIndex index, parse_index(**file));
    for (Finding& finding : index.findings) finding.file = index_name;
    set.findings.insert(set.findings.end(), index.findings.begin(), index.findings.end());
    set.index = std::move(index);
  }
  const bool usable = set.index && set.index->usable;
  builder.open_files(folder, usable ? set.index->shards : folder.model_files());
  builder.merge();
  if (usable) builder.report_unlisted(folder);
  builder.finish();
  return {};
}

std::optional<std::string> folder_problem(const Folder& folder) {
  std::error_code error;
  std::filesystem::directory_iterator ignored(folder.path.empty() ? "." : folder.path, error);
  if (error) return error.message();
  return std::nullopt;
}

Status open_directory(ShardSet& set) {
  set.is_directory = true;
  set.folder = set.path.ends_with('/') ? set.path : set.path + '/';
  const Folder folder(set.folder);
  if (const std::optional<std::string> index = folder.index()) {
    set.index_path = set.folder + *index;
    return open_indexed(set, folder);
  }
  const std::vector<std::string> names = folder.model_files();
  if (names.empty()) {
    if (const auto problem = folder_problem(folder)) {
      return input_error("io-open", "cannot be opened: " + *problem, {}, {}, set.path);
    }
    return input_error("st-no-model", "contains no model: no *.safetensors file and no index", {}, {}, set.path);
  }
  SetBuilder builder(set);
  builder.open_files(folder, names);
  builder.merge();
  builder.report_missing_siblings(folder, names);
  builder.finish();
  return {};
}

Status open_index_file(ShardSet& set) {
  set.folder = folder_of(set.path);
  set.index_path = set.path;
  MU_TRY(open_indexed(set, Folder(set.folder)));
  if (!is_index_name(base_name_of(set.path)) && !set.index->usable) {
    return input_error("st-not-safetensors",
                       "is a JSON file, but not an index of safetensors files (it has no weight_map)", {}, {},
                       set.path);
  }
  return {};
}

Status open_single(ShardSet& set) {
  MU_ASSIGN(std::shared_ptr<ByteSource> source, open_source(set.path));
  MU_ASSIGN(Document document, parse(*source));
  SetBuilder builder(set);
  const bool is_file = std::dynamic_pointer_cast<RandomAccessFile>(source) != nullptr && set.path != "-";
  const std::string path = set.path == "-" ? source->name() : set.path;
  builder.add_file(path, std::move(source), std::move(document));
  builder.merge();
  if (is_file && shard_name(set.files.front().base_name)) {
    set.folder = folder_of(set.path);
    const Folder folder(set.folder);
    if (folder.indexes.empty()) builder.report_missing_siblings(folder, {set.files.front().base_name});
  }
  builder.finish();
  return {};
}

}  // namespace

std::optional<TensorRef> ShardSet::find(std::string_view name) const {
  const bool is_one = names.size() == 0 && files.size() == 1;
  const std::optional<u32> number = is_one ? files.front().document.names.find(name) : names.find(name);
  if (!number) return std::nullopt;
  return tensors[*number];
}

std::vector<MetadataEntry> ShardSet::metadata() const {
  std::vector<MetadataEntry> merged;
  NameIndex keys;
  for (const ShardFile& shard : files) {
    for (const MetadataEntry& entry : shard.document.metadata) {
      if (keys.insert(entry.key).is_new) merged.push_back(entry);
    }
  }
  return merged;
}

Findings ShardSet::all_findings() const {
  Findings all = findings;
  const bool name_files = is_directory || !index_path.empty();
  if (!name_files) {
    for (Finding& finding : all) finding.file.clear();
  }
  for (const ShardFile& shard : files) {
    for (const Finding& finding : shard.document.findings) {
      all.push_back(finding);
      if (name_files) all.back().file = shard.base_name;
    }
  }
  return all;
}

bool is_model_folder(const std::string& path) {
  const Folder folder(path.ends_with('/') ? path : path + '/');
  return !folder.indexes.empty() || !folder.weights.empty();
}

bool is_index(std::string_view path, std::string_view head) {
  return is_index_name(base_name_of(path)) ||
         (path.ends_with(".json") && head.find("\"weight_map\"") != std::string_view::npos);
}

Result<ShardSet> open_set(const std::string& path) {
  ShardSet set;
  set.path = path;
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored)) {
    MU_TRY(open_directory(set));
  } else if (path.ends_with(".json")) {
    MU_TRY(open_index_file(set));
  } else {
    MU_TRY(open_single(set));
  }
  return set;
}

}  // namespace modelutils::safetensors
