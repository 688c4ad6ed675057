#include "formats/safetensors/shard_set.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/name_index.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/safetensors/index.h"
#include "formats/safetensors/parse.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "io/remote_address.h"
#include "io/remote_source.h"

namespace modelutils::safetensors {

namespace {

/// Returns the shards in the folder that belong to the same model as `own`.
std::vector<std::string> shards_like(const ShardName& own, const Folder& folder) {
  std::vector<std::string> names;
  std::copy_if(folder.weights.begin(), folder.weights.end(), std::back_inserter(names), [&](std::string_view file) {
    const std::optional<ShardName> other = shard_name(file);
    return other && other->prefix == own.prefix && other->count == own.count;
  });
  return names;
}

/// Estimates the header size of each shard from the index's entries.
std::vector<u64> header_sizes(const ShardIndex& index) {
  constexpr u64 bytes_of_entry = 100;  // besides the name: type, shape, two offsets
  std::vector<u64> sizes(index.shards.size(), length_bytes + bytes_of_entry);
  for (const IndexEntry& entry : index.entries) sizes[entry.shard] += entry.tensor.size() + bytes_of_entry;
  return sizes;
}

/// Refuses a remote model whose index names a file outside its folder, before requesting anything.
Status check_remote_names(const ShardIndex& index, const Folder& folder) {
  if (!is_address(folder.path)) return {};
  for (const Finding& finding : index.findings) {
    if (finding.code == "st-index-file-name") return tl::make_unexpected(finding);
  }
  for (const std::string& name : index.shards) {
    if (stays_in_remote_folder(folder.path, name)) continue;
    return input_error(
        "st-index-file-name",
        fmt::format("the file name '{}' is refused: as part of an address it would lead elsewhere", name));
  }
  return {};
}

/// Builds a set: opens files, merges their tensors, compares them with the index.
class SetBuilder {
 public:
  SetBuilder(ShardSet& set, OutsideLinks links, CheckpointReader checkpoints = nullptr)
      : set_(set), links_(links), checkpoints_(checkpoints) {}

  void add_file(std::string path, std::string name, std::shared_ptr<ByteSource> source, Document document) {
    set_.files.push_back({std::move(path), std::move(name), std::move(source), std::move(document)});
  }

  /// Opens files of the folder. A file that cannot be opened or is not safetensors is a finding.
  void open_files(const Folder& folder, const std::vector<std::string>& names);
  /// Opens the files with separate prediction blocks next to the model, unless the files opened already have these
  /// blocks.
  void open_prediction(const Folder& folder);
  void report_link(const FolderFile& file, const std::string& name);
  /// Reports checkpoints that are ignored because there are safetensors files.
  void report_checkpoints(const Folder& folder);
  /// Reports groups of shards without an index that are incomplete.
  void report_groups(const std::vector<std::string>& base_names, bool wants_index = true);
  /// Reports only missing shards, for a single file of such a group.
  void report_siblings(const Folder& folder);
  void report_missing(const ShardGroup& group);
  void report_unlisted(const Folder& folder);
  void report_variants(const Folder& folder);
  void merge();

 private:
  Result<ShardContent> read(std::shared_ptr<ByteSource> source) const;

  static constexpr u32 no_file = ~u32{0};

  void merge_tensor(u32 file, u32 entry);
  void compare_with_index();
  void compare_total_size();
  /// Index into set_.files of an indexed shard, or no_file.
  u32 file_of(u32 shard) const { return shard_files_.empty() ? no_file : shard_files_[shard]; }

  ShardSet& set_;
  OutsideLinks links_;
  CheckpointReader checkpoints_;
  NameIndex index_names_;         // names of the index's entries, numbered in order
  std::vector<u32> shard_files_;  // by shard of the index: its position in set_.files, or no_file
};

void SetBuilder::open_files(const Folder& folder, const std::vector<std::string>& names) {
  if (is_address(folder.path)) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(folder.path + name);
    open_ahead(paths, set_.index && names == set_.index->shards ? header_sizes(*set_.index) : std::vector<u64>());
  }
  for (const std::string& name : names) {
    auto opened = open_in_folder(folder.path, name);
    if (!opened) {
      set_.findings.error(Scope::container, "st-shard-open", std::move(opened.error().message), {}, {}, name);
      continue;
    }
    if (opened->is_below_linked_dir) {
      set_.findings.error(Scope::container, "st-shard-open",
                          "is not opened, because a directory on its path is a symbolic link", {}, {}, name);
      continue;
    }
    report_link(*opened, name);
    auto content = read(std::move(opened->file));
    if (!content) {
      set_.findings.error(Scope::container, "st-shard-format", std::move(content.error().message), {},
                          content.error().offset, name);
      continue;
    }
    add_file(folder.path + name, name, std::move(content->source), std::move(content->document));
  }
}

void SetBuilder::open_prediction(const Folder& folder) {
  std::vector<std::string> names = folder.prediction_files();
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::any_of(set_.files, [&](const ShardFile& file) { return file.base_name == name; });
  });
  if (names.empty()) return;
  const std::size_t before = set_.files.size();
  open_files(folder, names);
  report_groups(names, false);
  for (std::size_t i = before; i < set_.files.size(); ++i) set_.files[i].is_apart = true;
  set_.findings.note(Scope::container, "st-mtp-apart",
                     "holds multi-token prediction (MTP) blocks apart from the model; they are read as well", {}, {},
                     names.front());
  std::ranges::sort(set_.files, {}, &ShardFile::base_name);
}

Result<ShardContent> SetBuilder::read(std::shared_ptr<ByteSource> source) const {
  if (!set_.has_checkpoints) {
    MU_ASSIGN(Document document, parse(*source));
    source->note_header_end();
    return ShardContent{std::move(source), std::move(document)};
  }
  const std::string name = source->name();
  MU_ASSIGN(std::optional<ShardContent> content, checkpoints_(std::move(source), true));
  if (!content) return input_error("st-not-safetensors", "is not a PyTorch checkpoint", {}, {}, name);
  return std::move(*content);
}

void SetBuilder::report_checkpoints(const Folder& folder) {
  if (folder.checkpoints.empty() || folder.holds_checkpoints()) return;
  set_.findings.note(Scope::container, "st-checkpoint-unused",
                     "is a PyTorch checkpoint next to the safetensors files, which are read instead", {}, {},
                     folder.checkpoints.front());
}

void SetBuilder::report_link(const FolderFile& file, const std::string& name) {
  if (!file.is_outside || links_ == OutsideLinks::follow) return;
  set_.findings.warning(Scope::container, "st-shard-symlink",
                        "is a symbolic link that leads out of the model's directory; check where it points", {}, {},
                        name);
}

void SetBuilder::report_groups(const std::vector<std::string>& base_names, bool wants_index) {
  for (const ShardGroup& group : shard_groups(base_names)) {
    if (group.missing > 0) {
      report_missing(group);
    } else if (group.count > 1 && wants_index) {
      set_.findings.warning(
          Scope::container, "st-index-missing",
          fmt::format("is part {} of {}, but there is no index, so some programs do not find the other parts",
                      group.number, group.count),
          {}, {}, group.first_file);
    }
  }
}

void SetBuilder::report_siblings(const Folder& folder) {
  if (!folder.indexes.empty()) return;
  const std::string_view name = set_.files.front().base_name;
  const std::optional<ShardName> own = shard_name(name);
  const std::vector<std::string> group_files = shards_like(*own, folder);
  for (ShardGroup& group : shard_groups(group_files)) {
    group.first_file = name;
    group.number = own->number;
    if (group.missing > 0) report_missing(group);
  }
}

void SetBuilder::report_missing(const ShardGroup& group) {
  set_.findings.error(
      Scope::container, "st-shard-incomplete",
      fmt::format("is part {} of {}, but {} of these files {} missing (the first is number {}), and there is no "
                  "index; download the rest",
                  group.number, group.count, group.missing, group.missing == 1 ? "is" : "are", group.first_missing),
      {}, {}, group.first_file);
}

void SetBuilder::report_unlisted(const Folder& folder) {
  if (is_prediction_name(base_name_of(set_.index_path))) return;
  for (const std::string& name : folder.weights) {
    if (name.starts_with("model") && !std::binary_search(set_.index->shards.begin(), set_.index->shards.end(), name)) {
      set_.findings.warning(Scope::container, "st-shard-unlisted", "the index does not list this file", {}, {}, name);
    }
  }
}

void SetBuilder::report_variants(const Folder& folder) {
  constexpr std::string_view text = "is another variant of '{}.safetensors', which is read instead";
  for (const std::string& name : folder.variant_files())
    set_.findings.warning(Scope::container, "st-shard-unlisted",
                          fmt::format(text, name.substr(0, name.find_first_of(".-"))), {}, {}, name);
}

void SetBuilder::merge() {
  if (set_.index) {
    const std::vector<IndexEntry>& entries = set_.index->entries;
    index_names_.reserve(entries.size());
    for (const IndexEntry& entry : entries) index_names_.insert(entry.tensor);  // unique: numbered in order
    for (const std::string& shard : set_.index->shards) {
      const auto file = std::lower_bound(
          set_.files.begin(), set_.files.end(), shard,
          [](const ShardFile& candidate, const std::string& name) { return candidate.base_name < name; });
      const bool is_open = file != set_.files.end() && file->base_name == shard;
      shard_files_.push_back(is_open ? static_cast<u32>(file - set_.files.begin()) : no_file);
    }
  }
  std::size_t total = 0;
  for (const ShardFile& file : set_.files) total += file.document.tensors.size();
  reserve_to_fill(set_.tensors, total);
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
  if (first.file == file) return;  // reported by the document
  set_.findings.error(Scope::container, "st-shard-two-files",
                      fmt::format("is also in '{}'", set_.files[first.file].base_name), at_tensor(tensor.name),
                      tensor.entry_offset, set_.files[file].base_name);
  const std::optional<u32> named = index_names_.find(tensor.name);
  if (named && file_of(set_.index->entries[*named].shard) == file) std::swap(first, set_.repeated.back());
}

void SetBuilder::compare_with_index() {
  const std::string index_name = base_name_of(set_.index_path);
  for (const TensorRef ref : set_.tensors) {
    const Tensor& tensor = set_.tensor(ref);
    if (index_names_.find(tensor.name) || set_.file(ref).is_apart) continue;
    set_.findings.error(Scope::container, "st-index-lacks-tensor", "the index does not list this tensor",
                        at_tensor(tensor.name), tensor.entry_offset, set_.file(ref).base_name);
  }
  for (const IndexEntry& entry : set_.index->entries) {
    const u32 file = file_of(entry.shard);
    if (file == no_file || !set_.files[file].document.complete) continue;  // reported elsewhere
    const std::optional<TensorRef> found = set_.find(entry.tensor);
    if (found && found->file == file) continue;
    set_.findings.error(Scope::container, "st-shard-lacks-tensor",
                        fmt::format("is not in '{}', where the index says it is{}", set_.files[file].base_name,
                                    found ? fmt::format(", but in '{}'", set_.file(*found).base_name) : ""),
                        at_tensor(entry.tensor), entry.offset, index_name);
  }
}

void SetBuilder::compare_total_size() {
  const bool is_whole = std::all_of(set_.files.begin(), set_.files.end(), [](const ShardFile& file) {
    return first_container_error(file.document.findings) == nullptr;
  });
  if (!set_.index->total_size || !is_whole || first_container_error(set_.findings) != nullptr) return;
  u64 bytes = 0;
  for (const TensorRef ref : set_.tensors) {
    if (set_.file(ref).is_apart) continue;
    const std::optional<u64> sum = checked_add(bytes, set_.tensor(ref).bytes());
    if (!sum) return;  // the offsets are invalid and reported elsewhere
    bytes = *sum;
  }
  if (bytes == *set_.index->total_size) return;
  set_.findings.warning(
      Scope::container, "st-index-total-size",
      fmt::format("total_size is {}, but the tensors have {}", *set_.index->total_size, counted(bytes, "byte")),
      "metadata", {}, base_name_of(set_.index_path));
}

/// Returns the folder's weights if the index is stale: none of its shards exists, and the files present form a complete
/// set by their names. Empty otherwise.
std::vector<std::string> set_of_its_own(const Folder& folder, const ShardIndex& index) {
  const auto is_there = [&](const std::string& shard) { return is_present(folder.path + shard); };
  if (std::any_of(index.shards.begin(), index.shards.end(), is_there)) return {};
  std::vector<std::string> own = folder.model_files();
  const std::vector<ShardGroup> groups = shard_groups(own);
  const bool is_one = groups.empty() ? own.size() == 1 : groups.size() == 1 && groups.front().count == own.size();
  if (!is_one || (!groups.empty() && groups.front().missing > 0)) own.clear();
  return own;
}

/// Reads the index and opens the shards it lists; if it is unusable, opens the model files of the folder.
Status open_indexed(ShardSet& set, const Folder& folder, OutsideLinks links, CheckpointReader checkpoints,
                    FolderFile index_file = {}) {
  SetBuilder builder(set, links, checkpoints);
  const std::string index_name = base_name_of(set.index_path);
  auto opened = index_file.file ? Result<FolderFile>(std::move(index_file)) : open_in_folder(folder.path, index_name);
  if (!opened) {
    if (!set.is_directory) return tl::make_unexpected(std::move(opened.error()));
    set.findings.error(Scope::container, "st-index-open", std::move(opened.error().message), {}, {}, index_name);
  } else {
    builder.report_link(*opened, index_name);
    MU_ASSIGN(ShardIndex index, parse_index(*opened->file));
    if (Status safe = check_remote_names(index, folder); !safe) {
      return tl::make_unexpected(in_file(std::move(safe.error()), set.index_path));
    }
    index.findings.set_file(index_name);
    set.findings.add_all(index.findings);
    set.index = std::move(index);
  }
  const bool usable = set.index && set.index->usable;
  if (const std::vector<std::string> own = usable ? set_of_its_own(folder, *set.index) : std::vector<std::string>();
      !own.empty()) {
    set.findings.add({.code = "st-index-stale",
                      .message = fmt::format("the index belongs to another revision: {} present {} a complete set of "
                                             "{} own; --ignore-index ignores the index",
                                             own.size() == 1 ? "the file" : fmt::format("the {} files", own.size()),
                                             verb(own.size(), "is", "are"), verb(own.size(), "its", "their")),
                      .file = index_name,
                      .leads = true});
    set.index.reset();
    builder.open_files(folder, own);
    builder.open_prediction(folder);
    builder.merge();
    return {};
  }
  builder.open_files(folder, usable ? set.index->shards : folder.model_files());
  if (set.is_directory) builder.open_prediction(folder);
  builder.merge();
  builder.report_checkpoints(folder);
  if (usable) builder.report_unlisted(folder);
  return {};
}

Status open_directory(ShardSet& set, OutsideLinks links, bool ignore_index, CheckpointReader checkpoints) {
  set.is_directory = true;
  set.folder = set.path.ends_with('/') ? set.path : set.path + '/';
  Folder folder(set.folder);
  if (folder.problem) {
    folder.problem->file = set.path;
    return tl::make_unexpected(std::move(*folder.problem));
  }
  set.has_checkpoints = folder.holds_checkpoints();
  if (set.has_checkpoints && checkpoints == nullptr) {
    return input_error("st-no-model", "holds a PyTorch checkpoint, not safetensors files", {}, {}, set.path);
  }
  if (const std::optional<std::string> index = folder.index(); index && !ignore_index) {
    set.index_path = set.folder + *index;
    return open_indexed(set, folder, links, checkpoints);
  }
  const std::vector<std::string> names = folder.model_files();
  if (names.empty()) {
    return input_error("st-no-model", "contains no model: no *.safetensors file and no index", {}, {}, set.path);
  }
  SetBuilder builder(set, links, checkpoints);
  builder.open_files(folder, names);
  builder.open_prediction(folder);
  builder.merge();
  builder.report_checkpoints(folder);
  builder.report_variants(folder);
  builder.report_groups(names, folder.index_files().empty());
  return {};
}

Status open_index_file(ShardSet& set, OutsideLinks links, FolderFile opened, CheckpointReader checkpoints) {
  set.folder = folder_of(set.path);
  set.index_path = set.path;
  set.has_checkpoints = checkpoints != nullptr && is_checkpoint_index_name(base_name_of(set.path));
  MU_TRY(open_indexed(set, Folder(set.folder), links, checkpoints, std::move(opened)));
  if (!is_index_name(base_name_of(set.path)) && !set.index->usable) {
    return input_error("st-not-safetensors",
                       "is a JSON file, but not an index of safetensors files (it has no weight_map)", {}, {},
                       set.path);
  }
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

FindingLog ShardSet::all_findings() const {
  FindingLog all = findings;
  const bool name_files = is_directory || !index_path.empty() || files.size() > 1;
  if (!name_files) all.clear_file();
  for (const ShardFile& shard : files) {
    FindingLog own = shard.document.findings;
    if (name_files) own.set_file(shard.base_name);
    all.add_all(std::move(own));
  }
  return all;
}

bool is_model_folder(const std::string& path) {
  const Folder folder(path.ends_with('/') ? path : path + '/');
  return folder.problem || folder.index() || !folder.model_files().empty();
}

Result<ShardSet> open_shards(const std::string& path, OutsideLinks links) {
  ShardSet set;
  set.path = path;
  set.folder = folder_of(path);
  Folder folder(set.folder);
  if (folder.problem) return tl::make_unexpected(in_file(std::move(*folder.problem), set.folder));
  const std::string name = base_name_of(path);
  const std::vector<std::string> names = shards_like(*shard_name(name), folder);
  SetBuilder builder(set, links);
  builder.open_files(folder, names);
  builder.merge();
  builder.report_groups(names);
  return set;
}

Result<ShardSet> open_stream(const std::string& path, std::shared_ptr<ByteSource> source,
                             CheckpointReader checkpoints) {
  if (source == nullptr) {
    MU_ASSIGN(source, open_source(path));
  }
  ShardSet set;
  set.path = path;
  SetBuilder builder(set, OutsideLinks::follow);  // the user named this file explicitly
  const bool has_file = source->as_file() != nullptr;
  const std::string name = path == "-" ? source->name() : path;
  if (has_file && checkpoints != nullptr) {
    MU_ASSIGN(std::optional<ShardContent> content, checkpoints(source, false));
    if (content) {
      set.has_checkpoints = true;
      builder.add_file(name, base_name_of(name), std::move(content->source), std::move(content->document));
      builder.merge();
      return set;
    }
  }
  MU_ASSIGN(Document document, parse(*source));
  source->note_header_end();
  builder.add_file(name, base_name_of(name), std::move(source), std::move(document));
  builder.merge();
  if (has_file && path != "-" && shard_name(set.files.front().base_name)) {
    set.folder = folder_of(path);
    builder.report_siblings(Folder(set.folder));
  }
  return set;
}

Result<ShardSet> open_set(const std::string& path, OutsideLinks links, FolderFile opened, bool ignore_index,
                          CheckpointReader checkpoints) {
  const bool is_folder = path != "-" && (os::is_folder(path) || is_remote_folder(path));
  if (!is_folder && !path.ends_with(".json")) return open_stream(path, std::move(opened.file), checkpoints);
  ShardSet set;
  set.path = path;
  MU_TRY(is_folder ? open_directory(set, links, ignore_index, checkpoints)
                   : open_index_file(set, links, std::move(opened), checkpoints));
  return set;
}

}  // namespace modelutils::safetensors
