#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "base/name_index.h"
#include "base/path.h"
#include "base/text.h"
#include "edit/safetensors/st_edit.h"
#include "io/copy_range.h"
#include "io/model_folder.h"
#include "json/value.h"
#include "json/writer.h"

namespace modelutils::to_safetensors {

namespace {

constexpr std::size_t most_shards = 99'999;
constexpr u64 least_shared = u64{1} << 20;  // shorter runs are not worth padding for
// Types in the order of safetensors' own writer, which puts the last first.
constexpr std::array writer_order = {
    TensorType::BOOL,        TensorType::F4,      TensorType::F6_E2M3, TensorType::F6_E3M2, TensorType::U8,
    TensorType::I8,          TensorType::F8_E5M2, TensorType::F8_E4M3, TensorType::F8_E8M0, TensorType::F8_E4M3FNUZ,
    TensorType::F8_E5M2FNUZ, TensorType::I16,     TensorType::U16,     TensorType::F16,     TensorType::BF16,
    TensorType::I32,         TensorType::U32,     TensorType::F32,     TensorType::C64,     TensorType::F64,
    TensorType::I64,         TensorType::U64};

std::ptrdiff_t rank_of(TensorType type) {
  return writer_order.end() - std::find(writer_order.begin(), writer_order.end(), type);
}

struct Shard {
  std::vector<std::size_t> tensors;    // indices into the edited tensors
  std::size_t source_file = no_place;  // keeps the layout of this file
  std::string name;
};

class LayoutPlanner {
 public:
  LayoutPlanner(StPlan& plan, const StEditOptions& options)
      : plan_(plan), edited_(plan.edited), options_(options), to_file_(!plan.to_directory) {}

  Status run() {
    choose_shards();
    if (shards_.size() > most_shards) {
      return usage_error(fmt::format("the size would make {} files, at most {} are allowed; choose a larger one",
                                     shards_.size(), most_shards));
    }
    name_shards();
    sort_metadata();
    plan_.edited.report.tensors.reserve(edited_.tensors.size());
    if (!to_file_) weight_map_.reserve(edited_.tensors.size());
    for (Shard& shard : shards_) {
      order(shard);
      MU_TRY(add_file(shard));
    }
    const bool had_index = !edited_.set().index_path.empty() && !edited_.set().has_checkpoints;
    if (!to_file_ && (shards_.size() > 1 || (had_index && !is_layout_chosen()))) MU_TRY(add_index());
    return {};
  }

 private:
  bool is_layout_chosen() const { return options_.single || options_.max_shard_size; }

  void choose_shards() {
    const std::size_t count = edited_.tensors.size();
    const bool is_checkpoint = edited_.set().has_checkpoints;
    if (options_.max_shard_size || (is_checkpoint && !options_.single && !to_file_)) {
      return divide(options_.max_shard_size.value_or(usual_shard_size));
    }
    const bool is_one = options_.single || to_file_;
    if (is_one || edited_.file_count == 1) {
      Shard& all = shards_.emplace_back();
      for (std::size_t i = 0; i < count; ++i) all.tensors.push_back(i);
      const bool keeps = !options_.single && edited_.file_count == 1 && !is_checkpoint;
      if (keeps) all.source_file = 0;
      return;
    }
    std::map<std::size_t, Shard> by_file;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t file = edited_.source(edited_.tensors[i]).file;
      by_file[file].tensors.push_back(i);
      by_file[file].source_file = file;
    }
    for (auto& [file, shard] : by_file) shards_.push_back(std::move(shard));
    if (shards_.empty()) shards_.emplace_back();  // a model without tensors is a file without tensors
  }

  // Like huggingface_hub's split_state_dict_into_shards_factory(): a tensor above the limit gets a shard of its own. It
  // is numbered before the shard that is being filled.
  void divide(u64 limit) {
    Shard current;
    u64 filled = 0;
    for (std::size_t i = 0; i < edited_.tensors.size(); ++i) {
      const u64 bytes = edited_.tensors[i].bytes();
      if (bytes > limit) {
        shards_.emplace_back().tensors.push_back(i);
        continue;
      }
      if (bytes > limit - filled) {
        shards_.push_back(std::move(current));
        current = {};
        filled = 0;
      }
      current.tensors.push_back(i);
      filled += bytes;
    }
    if (!current.tensors.empty() || shards_.empty()) shards_.push_back(std::move(current));
  }

  void name_shards() {
    if (to_file_) {
      shards_.front().name = options_.output;
      return;
    }
    const std::vector<safetensors::ShardFile>& files = edited_.set().files;
    bool keeps = edited_.is_directory() && shards_.size() == edited_.file_count;
    for (const Shard& shard : shards_) {
      keeps =
          keeps && shard.source_file != no_place && files[shard.source_file].base_name.find('/') == std::string::npos;
    }
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      shards_[i].name = keeps                 ? files[shards_[i].source_file].base_name
                        : shards_.size() == 1 ? "model.safetensors"
                                              : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards_.size());
    }
  }

  // A chosen layout has the order of safetensors' own writer, so that it does not depend on the source's files.
  // Otherwise the data keeps its order.
  void order(Shard& shard) const {
    const auto tensor = [&](std::size_t i) -> const EditedTensor& { return edited_.tensors[i]; };
    if (is_layout_chosen()) {
      std::ranges::sort(shard.tensors, [&](std::size_t a, std::size_t b) {
        return std::pair(rank_of(tensor(a).type), std::string_view(tensor(a).name)) <
               std::pair(rank_of(tensor(b).type), std::string_view(tensor(b).name));
      });
    } else if (shard.source_file != no_place) {
      std::ranges::stable_sort(shard.tensors, {}, [&](std::size_t i) { return edited_.source(tensor(i)).offset; });
    }
  }

  // Separates what every file states from the entries that belong to a tensor, because they say which other one shares
  // its data.
  void sort_metadata() {
    std::set<std::string_view> keys;
    NameIndex stored;
    stored.reserve(edited_.tensors.size());
    for (const EditedTensor& tensor : edited_.tensors) stored.insert(tensor.name);
    for (const safetensors::OutMetadata& metadata : edited_.metadata) {
      for (const auto& entry : metadata) {
        if (!keys.insert(entry.first).second) continue;
        if (stored.find(entry.second) && !stored.find(entry.first)) {
          shared_.emplace(entry.second, &entry);
        } else {
          common_.push_back(entry);
        }
      }
    }
  }

  safetensors::OutMetadata metadata_of(const Shard& shard) const {
    if (shard.source_file != no_place && !edited_.set().has_checkpoints) return edited_.metadata[shard.source_file];
    safetensors::OutMetadata all = common_;
    for (const std::size_t i : shard.tensors) {
      const auto [first, last] = shared_.equal_range(edited_.tensors[i].name);
      for (auto each = first; each != last; ++each) all.push_back(*each->second);
    }
    return all;
  }

  // Returns the source file whose header the output can have, too: the same tensors with the same names and bytes.
  const safetensors::ShardFile* unchanged_file(const Shard& shard) const {
    if (shard.source_file == no_place || edited_.set().has_checkpoints || options_.reserve) return nullptr;
    const safetensors::ShardFile& file = edited_.set().files[shard.source_file];
    if (edited_.is_metadata_changed[shard.source_file] || shard.tensors.size() != file.document.tensors.size()) {
      return nullptr;
    }
    for (const std::size_t i : shard.tensors) {
      const EditedTensor& tensor = edited_.tensors[i];
      const Tensor& source = edited_.source(tensor);
      if (!tensor.is_copy(source) || tensor.name != source.name || tensor.bytes() != source.bytes) return nullptr;
    }
    return file.source->as_file() != nullptr ? &file : nullptr;
  }

  Status add_file(const Shard& shard) {
    PlannedFile file;
    file.path = shard.name;
    std::vector<u64> places;  // absolute, by tensor of the shard
    if (const safetensors::ShardFile* same = unchanged_file(shard)) {
      file.header.resize(static_cast<std::size_t>(same->document.data_offset));
      MU_TRY(same->source->read_exact(0, std::as_writable_bytes(std::span(file.header))));
      file.size = same->document.file_size.value_or(0);
      for (const std::size_t i : shard.tensors) places.push_back(edited_.source(edited_.tensors[i]).offset);
    } else {
      MU_TRY(make_header(shard, file, places));
    }
    for (std::size_t i = 0; i < shard.tensors.size(); ++i) {
      add_stream(shard.tensors[i], places[i]);
      add_report(shard.tensors[i], shard.name);
    }
    plan_.edited.report.files.push_back({file.path, file.size, shard.tensors.size()});
    plan_.files.push_back(std::move(file));
    return {};
  }

  Status make_header(const Shard& shard, PlannedFile& file, std::vector<u64>& places) {
    std::vector<safetensors::OutTensor> tensors;
    tensors.reserve(shard.tensors.size());
    for (const std::size_t i : shard.tensors) {
      const EditedTensor& tensor = edited_.tensors[i];
      tensors.push_back({tensor.name, tensor.type, tensor.shape()});
    }
    auto layout = safetensors::layout(metadata_of(shard), tensors);
    if (!layout) return tl::make_unexpected(in_file(std::move(layout.error()), options_.input));
    const u64 extra = reserved() + padding_to_share(shard, *layout);
    if (extra > 0) pad(*layout, extra);
    for (const auto& [begin, end] : layout->offsets) places.push_back(layout->header.size() + begin);
    file.header = std::move(layout->header);
    file.size = layout->file_size;
    return {};
  }

  // --reserve, as a multiple of 8, so that the data stays aligned.
  u64 reserved() const { return (options_.reserve.value_or(0) + 7) / 8 * 8; }

  static void pad(safetensors::OutLayout& layout, u64 extra) {
    layout.header.append(static_cast<std::size_t>(extra), ' ');
    layout.file_size += extra;
    const u64 length = layout.header.size() - safetensors::length_bytes;
    for (std::size_t i = 0; i < safetensors::length_bytes; ++i) {
      layout.header[i] = static_cast<char>(length >> (8 * i));
    }
  }

  // Returns the number of spaces after the header that give the first long run of copied bytes the same offset within
  // its blocks as in the source. The file system can then share these blocks.
  u64 padding_to_share(const Shard& shard, const safetensors::OutLayout& layout) const {
    if (shard.source_file == no_place || options_.output.empty() || options_.output == "-") return 0;
    const RandomAccessFile* source = edited_.set().files[shard.source_file].source->as_file();
    const std::string folder =
        plan_.to_directory ? folder_of(without_slash(options_.output)) : folder_of(options_.output);
    if (source == nullptr || !may_share_blocks(*source, folder)) return 0;
    u64 longest = least_shared, padding = 0;
    for (std::size_t i = 0; i < shard.tensors.size(); ++i) {
      const EditedTensor& tensor = edited_.tensors[shard.tensors[i]];
      const Tensor& from = edited_.source(tensor);
      if (!tensor.is_copy(from) || tensor.bytes() != from.bytes || from.bytes < longest) continue;
      longest = from.bytes;
      const u64 to = layout.header.size() + layout.offsets[i].first + reserved();
      padding = (from.offset % shared_block_bytes + shared_block_bytes - to % shared_block_bytes) % shared_block_bytes;
    }
    return padding;
  }

  static std::string without_slash(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
  }

  void add_stream(std::size_t number, u64 place) {
    const EditedTensor& tensor = edited_.tensors[number];
    const Tensor& source = edited_.source(tensor);
    const std::size_t file = plan_.files.size();
    // A checkpoint's tensors may have to be gathered from their strides.
    const RandomAccessFile* from =
        edited_.set().has_checkpoints ? nullptr : edited_.model.catalog().files[source.file].source->as_file();
    if (tensor.is_copy(source) && from != nullptr) {
      for (const RecipePart& part : tensor.parts) {
        const u64 unit_bytes = part_bytes(tensor, 1);
        add_run(file, place + part.to.base * unit_bytes, from, source.offset + part.from.base * unit_bytes,
                part_bytes(tensor, part.units()));
      }
      return;
    }
    const u64 columns = tensor.merge != nullptr || tensor.decoded != nullptr ? tensor.columns() : 1;
    StreamTensor stream;
    stream.file = file;
    if (tensor.is_copy(source)) {  // from a source that is not a file
      stream.rows = tensor.bytes();
      stream.parts[0] = {place, 1};
    } else {
      const u64 row_bytes = packed_bytes(tensor.type, columns).value_or(1);
      stream.rows = tensor.elements() / std::max<u64>(columns, 1);
      stream.parts[0] = {place, row_bytes};
      stream.is_measured = may_round(edited_, tensor);
    }
    plan_.stream.push_back(stream);
    plan_.copied_from.push_back({});
    plan_.encoded.push_back(number);
  }

  // Returns the bytes that `units` take. A tensor with several elements per byte is copied as a whole, so it needs no
  // part.
  static u64 part_bytes(const EditedTensor& tensor, u64 units) {
    return packed_bytes(tensor.type, tensor.unit * units).value_or(tensor.bytes());
  }

  // Adds bytes to copy; adjacent ones make one run.
  void add_run(std::size_t file, u64 to, const RandomAccessFile* from, u64 offset, u64 size) {
    if (size == 0) return;
    if (!plan_.stream.empty()) {
      StreamTensor& last = plan_.stream.back();
      const CopiedFrom& before = plan_.copied_from.back();
      if (last.file == file && before.file == from && before.offset + last.rows == offset &&
          last.parts[0].offset + last.rows == to) {
        last.rows += size;
        return;
      }
    }
    StreamTensor& run = plan_.stream.emplace_back();
    run.file = file;
    run.rows = size;
    run.parts[0] = {to, 1};
    plan_.copied_from.push_back({from, offset});
    plan_.encoded.push_back(no_place);
  }

  void add_report(std::size_t number, const std::string& file) {
    const EditedTensor& tensor = edited_.tensors[number];
    const Tensor& source = edited_.source(tensor);
    TensorReport& report = plan_.edited.report.tensors.emplace_back();
    report.name = tensor.name;
    report.source = source.name;
    report.source_form =
        tensor.decoded != nullptr ? text_with_scales(tensor.decoded->form) : std::string(type_name(*source.type));
    report.form = type_name(tensor.type);
    report.shape = tensor.shape();
    report.bytes = tensor.bytes();
    report.file = to_file_ ? base_name_of(file) : file;
    if (may_round(edited_, tensor)) report.exact = std::nullopt;
    if (tensor.merge != nullptr) report.reason = "merged with " + tensor.merge->text();
    if (!to_file_) weight_map_.emplace_back(tensor.name, file);
    total_ += tensor.bytes();
  }

  // Returns the text of the source's index if the output has the same tensors in the same files; else an empty text.
  Result<std::string> same_index() const {
    const std::optional<safetensors::ShardIndex>& index = edited_.set().index;
    if (!index || !index->usable || index->entries.size() != weight_map_.size() || index->total_size != total_) {
      return std::string();
    }
    std::map<std::string_view, std::string_view> files;
    for (const safetensors::IndexEntry& entry : index->entries) files[entry.tensor] = index->shards[entry.shard];
    for (const auto& [name, file] : weight_map_) {
      const auto found = files.find(name);
      if (found == files.end() || found->second != file) return std::string();
    }
    MU_ASSIGN(const FolderFile file, open_in_folder(edited_.set().folder, base_name_of(edited_.set().index_path)));
    std::string text(static_cast<std::size_t>(std::min(file.file->file_size(), safetensors::max_header_bytes)), '\0');
    MU_TRY(file.file->read_exact(0, std::as_writable_bytes(std::span(text))));
    return text;
  }

  Status add_index() {
    MU_ASSIGN(plan_.index, same_index());
    if (plan_.index.empty()) plan_.index = index_text(std::move(weight_map_), total_);
    plan_.edited.report.files.push_back({"model.safetensors.index.json", plan_.index.size(), 0});
    return {};
  }

  StPlan& plan_;
  EditedSet& edited_;
  const StEditOptions& options_;
  bool to_file_;
  std::vector<Shard> shards_;
  safetensors::OutMetadata common_;
  std::multimap<std::string_view, const std::pair<std::string, std::string>*> shared_;  // by the stored tensor
  std::vector<std::pair<std::string, std::string>> weight_map_;
  u64 total_ = 0;
};

}  // namespace

std::string index_text(std::vector<std::pair<std::string, std::string>> entries, u64 total_size) {
  std::ranges::sort(entries);
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    {
      const auto in_metadata = out.object("metadata");
      out.member("total_size", total_size);
    }
    const auto in_weight_map = out.object("weight_map");
    for (const auto& [name, file] : entries) out.member(name, file);
  }
  out.end_line();
  return json::ascii_text(out.text());
}

Status lay_out(StPlan& plan, const StEditOptions& options) {
  return LayoutPlanner(plan, options).run();
}

}  // namespace modelutils::to_safetensors
