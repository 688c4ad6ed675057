// BUMPWGT3 weights as one side of a comparison: either as entries, or as the GGUF tensors from which they were made,
// without the padding of heads and rows and with gate and up separated.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "compare/compared_model.h"
#include "formats/bump/document.h"
#include "model/catalog.h"
#include "model/model.h"
#include "tensor/dequantize.h"

namespace modelutils {

namespace {

// Padding: the first `keep` of every `of` neighbours are real, the rest is padding.
struct Padding {
  u64 keep = 1;
  u64 of = 1;
};

// The part of an entry that corresponds to a tensor: rows from `first_row` on, and some columns of each row.
struct Excerpt {
  u64 first_row = 0;
  u64 rows = 0;
  Padding row_padding;
  u64 first_column = 0;
  u64 columns = 0;
  Padding column_padding;
};

// Returns the stored position of the unpadded element `index`.
u64 place_of(u64 index, const Padding& padding) {
  return index / padding.keep * padding.of + index % padding.keep;
}

class ExcerptValues : public TensorValues {
 public:
  ExcerptValues(const Catalog& catalog, const Tensor& tensor, const Excerpt& excerpt)
      : TensorValues(plain_form(*tensor.type), excerpt.rows * excerpt.columns, excerpt.columns),
        catalog_(catalog),
        tensor_(tensor),
        excerpt_(excerpt),
        row_bytes_(*row_bytes(*tensor.type, tensor.ne.front())) {}

  Status read(u64 first, u64 count, StoredRows& out) const override {
    const TypeInfo& type = type_info(form().type());
    const auto bytes_of = [&](u64 elements) { return elements / type.block_elements * type.block_bytes; };
    out.values().resize(count * bytes_of(excerpt_.columns));
    std::vector<std::byte> row(row_bytes_);
    MutableBytes left(out.values());
    for (u64 i = first; i < first + count; ++i) {
      const u64 stored = excerpt_.first_row + place_of(i, excerpt_.row_padding);
      MU_TRY(catalog_.read(tensor_, stored * row_bytes_, row));
      for (u64 column = 0; column < excerpt_.columns;) {
        const u64 run = std::min(excerpt_.column_padding.keep, excerpt_.columns - column);
        const u64 begin = bytes_of(excerpt_.first_column + place_of(column, excerpt_.column_padding));
        std::memcpy(left.data(), row.data() + begin, bytes_of(run));
        left = left.subspan(bytes_of(run));
        column += run;
      }
    }
    return {};
  }

  void decode(const StoredRows& rows, std::span<float> out) const override {
    dequantize(form().type(), rows.values(), out);
  }

 private:
  const Catalog& catalog_;
  const Tensor& tensor_;
  Excerpt excerpt_;
  u64 row_bytes_;
};

// The entries of a file, or the tensors that they contain: heads without padding, and gate and up separately.
class EntryTensors : public ComparedTensors {
 public:
  explicit EntryTensors(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  Catalog catalog;  // of the entries; must not change after the first add()

  // `word` is the type's name in the file if the type is unknown. Without an excerpt, the tensor is the whole entry.
  void add(const Tensor& stored, std::string name, std::string_view word, const std::optional<Excerpt>& excerpt) {
    Tensor& tensor = tensors_.emplace_back(stored);
    tensor.name = kept_.keep(std::move(name));
    Source& source = sources_.emplace_back(Source{&stored, kept_.keep(std::string(word)), excerpt, {}});
    list_ = tensors_;
    if (!excerpt) return;
    if (!stored.type) {
      source.problem = "the type is not known";
      return;
    }
    tensor.ne = kept_.keep(excerpt->rows == 1 ? std::vector<u64>{excerpt->columns}
                                              : std::vector<u64>{excerpt->columns, excerpt->rows});
    const u64 block = type_info(*stored.type).block_elements;
    for (const u64 edge :
         {excerpt->columns, excerpt->column_padding.keep, excerpt->column_padding.of, excerpt->first_column}) {
      if (edge % block != 0) source.problem = "heads are not made of whole blocks";
    }
  }

  std::string type_text(const Tensor& tensor) const override {
    return tensor.type ? ComparedTensors::type_text(tensor) : std::string(sources_[place_of(tensor)].word);
  }
  std::string_view problem(const Tensor& tensor) const override { return sources_[place_of(tensor)].problem; }
  std::unique_ptr<TensorValues> values(const Tensor& tensor) const override {
    const Source& source = sources_[place_of(tensor)];
    if (source.excerpt) return std::make_unique<ExcerptValues>(catalog, *source.entry, *source.excerpt);
    return std::make_unique<MatrixValues>(catalog.values_of(*source.entry));
  }

 private:
  struct Source {
    const Tensor* entry;
    std::string_view word;
    std::optional<Excerpt> excerpt;
    std::string_view problem;
  };

  std::shared_ptr<const Model> model_;
  KeptTexts kept_;
  std::vector<Tensor> tensors_;
  std::vector<Source> sources_;  // parallel
};

void set_facts(const bump::Dimensions& d, ModelFacts& facts) {
  const auto known = [](u64 number) { return number == 0 ? std::nullopt : std::optional(number); };
  const auto range = [](u64 number) { return number == 0 ? std::nullopt : std::optional(Range{number, number}); };
  facts.layers = known(d.layers);
  facts.context = known(d.context);
  facts.embedding = known(d.embed);
  facts.head_dim = known(d.head_dim);
  facts.vocabulary = known(d.vocab);
  facts.heads = range(d.heads);
  facts.heads_kv = range(d.kv_heads);
  facts.feed_forward = range(d.intermediate);
}

Result<bool> is_all_zero(const ByteSource& file, u64 offset, u64 size) {
  std::vector<std::byte> piece;
  for (u64 done = 0; done < size; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<u64>(size - done, 64 * 1024)));
    MU_TRY(file.read_exact(offset + done, piece));
    if (std::ranges::any_of(piece, [](std::byte byte) { return byte != std::byte{0}; })) return false;
  }
  return true;
}

using bump::Role;

// Returns the excerpt of an entry that is its source number `part` (0 gate, 1 up; otherwise 0).
Excerpt excerpt_of(const bump::Entry& entry, const bump::Dimensions& d, std::size_t part) {
  const Padding none{1, 1};
  const bool is_padded = d.head_dim != d.aligned_head;
  const Padding heads = is_padded ? Padding{d.head_dim, d.aligned_head} : none;
  // Columns are copied in runs: whole heads, or the whole row.
  const auto head_columns = [&](u64 count) {
    const u64 columns = count * d.head_dim;
    return is_padded ? heads : Padding{columns, columns};
  };
  const auto vector = [&](u64 columns) { return Excerpt{0, 1, none, 0, columns, {columns, columns}}; };
  const auto matrix = [&](u64 rows, u64 columns) { return Excerpt{0, rows, none, 0, columns, {columns, columns}}; };
  switch (entry.role) {
    case Role::token_emb: return matrix(d.vocab, d.embed);
    case Role::wq: return {0, d.heads * d.head_dim, heads, 0, d.embed, {d.embed, d.embed}};
    case Role::wk:
    case Role::wv: return {0, d.kv_heads * d.head_dim, heads, 0, d.embed, {d.embed, d.embed}};
    case Role::bq: return {0, 1, none, 0, d.heads * d.head_dim, head_columns(d.heads)};
    case Role::bk:
    case Role::bv: return {0, 1, none, 0, d.kv_heads * d.head_dim, head_columns(d.kv_heads)};
    case Role::wo: return {0, d.embed, none, 0, d.heads * d.head_dim, head_columns(d.heads)};
    case Role::w1: {
      Excerpt half = matrix(d.intermediate, d.embed);
      half.first_row = part * d.intermediate;
      return half;
    }
    case Role::b1: {
      Excerpt half = vector(d.intermediate);
      half.first_column = part * d.intermediate;
      return half;
    }
    case Role::w2: return matrix(d.embed, d.intermediate);
    default: return vector(d.embed);
  }
}

class BumpLook {
 public:
  BumpLook(std::shared_ptr<const Model> model, const ComparisonView& view)
      : view_(view), model_(std::move(model)), tensors_(std::make_shared<EntryTensors>(model_)) {}

  Result<ComparedModel> look() {
    side_.path = model_->path();
    side_.kind = "BUMPWGT3";
    side_.key_kind = KeyKind::bump;
    add_header();
    if (lay_out()) {
      MU_TRY(add_tensors());
    } else if (document().complete()) {
      side_.broken.push_back({.code = "bump-size",
                              .message = fmt::format("the file has {} bytes, which does not match its header and dtype "
                                                     "codes: the places of its tensors are unknown",
                                                     document().file_size)});
    }
    set_side_facts();
    side_.tensors = tensors_;
    return std::move(side_);
  }

 private:
  const bump::Document& document() const { return model_->bump->document; }

  void add_header() {
    for (const bump::HeaderField& field : bump::header_fields()) {
      side_.keys.push_back(
          {field.name, gguf::ValueType::u64, side_.keys.size(), field.offset, document().header.*field.value, false});
    }
  }

  // Builds the list of entries. Returns false if header, config.json and file size do not determine it.
  bool lay_out() {
    if (!document().complete()) return false;
    FindingLog told_by_the_rules;
    const std::optional<BumpConfig> config = read_bump_config(model_->path(), told_by_the_rules);
    bump::Geometry geometry;
    if (config) geometry = {config->dimensions.kv_heads, config->dimensions.intermediate};
    std::vector<bump::Reading> readings = bump::readings_of(document(), geometry, 1);
    if (readings.empty()) readings = bump::readings_of(document(), {}, 1);
    if (readings.empty()) return false;
    dimensions_ = bump::dimensions_of(document(), readings.front().geometry);
    tensors_->catalog = catalog_of(model_->bump->file, bump::entries_of(document(), readings.front()), dimensions_);
    for (const bump::Entry& entry : bump::entries_of(document(), readings.front())) entries_.push_back(entry);
    return entries_.size() == tensors_->catalog.readable();
  }

  // True if the excerpts lie within the entries.
  bool is_consistent() const {
    const bump::Dimensions& d = dimensions_;
    return d.head_dim > 0 && d.head_dim <= d.aligned_head && d.embed <= d.aligned_embed;
  }

  Status add_tensors() {
    const bool by_entry = view_.naming == Naming::own || !is_consistent();
    side_.naming = by_entry ? Naming::own : Naming::gguf;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const bump::Entry& entry = entries_[i];
      if (by_entry) {
        add(i, entry.name(), std::nullopt);
        continue;
      }
      const bump::RoleInfo& role = bump::role_info(entry.role);
      if (role.sources[0].empty()) continue;
      const bool is_bias = role.in_layer && role.sources[0].ends_with(".bias");
      MU_ASSIGN(const bool is_absent,
                is_bias ? is_all_zero(*model_->bump->file, entry.offset, entry.size) : Result<bool>(false));
      if (is_absent) continue;  // the format has an entry that the model lacks
      for (std::size_t part = 0; part < 2 && !role.sources[part].empty(); ++part) {
        const Excerpt excerpt = excerpt_of(entry, dimensions_, part);
        add(i,
            role.in_layer ? fmt::format("blk.{}.{}", entry.layer, role.sources[part]) : std::string(role.sources[part]),
            excerpt);
      }
    }
    return {};
  }

  void add(std::size_t place, std::string name, const std::optional<Excerpt>& excerpt) {
    tensors_->add(tensors_->catalog.tensors[place], std::move(name), dtype_name(entries_[place].dtype), excerpt);
  }

  void set_side_facts() {
    set_facts(entries_.empty() ? bump::dimensions_of(document().header) : dimensions_, side_.facts);
    side_.facts.tensors = tensors_->list().size();
    side_.facts.file_size = document().file_size;
  }

  const ComparisonView& view_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<EntryTensors> tensors_;
  bump::Dimensions dimensions_;
  std::vector<bump::Entry> entries_;  // for each tensor of the catalog
  ComparedModel side_;
};

}  // namespace

Result<ComparedModel> compared_bump(std::shared_ptr<const Model> model, const ComparisonView& view) {
  return BumpLook(std::move(model), view).look();
}

// BUMPWGT4 and BUMPWGT5 weights as one side of a comparison: either as entries, or as the GGUF tensors from which they
// were made, with gate and up separated.

namespace {

using bump5::Content;
using bump5::Entry;
using bump5::RoleInfo;

class Bump5Look {
 public:
  Bump5Look(std::shared_ptr<const Model> model, const ComparisonView& view)
      : view_(view), model_(std::move(model)), tensors_(std::make_shared<EntryTensors>(model_)) {}

  Result<ComparedModel> look() {
    side_.path = model_->path();
    side_.kind = fmt::format("BUMPWGT{}", document().version);
    side_.key_kind = KeyKind::bump;
    side_.naming = view_.naming;
    for (const bump5::HeaderField& field : bump5::header_fields()) {
      side_.keys.push_back(
          {field.name, gguf::ValueType::u64, side_.keys.size(), field.offset, document().header.*field.value, false});
    }
    std::vector<bump5::Reading> readings = bump5::readings_of(document());
    if (!readings.empty()) {
      entries_ = std::move(readings.front().entries);
      tensors_->catalog = catalog_of(model_->bump5->file, entries_, document().header, model_->format);
      MU_TRY(add_tensors());
    }
    set_side_facts();
    side_.tensors = tensors_;
    return std::move(side_);
  }

 private:
  const bump5::Document& document() const { return model_->bump5->document; }

  Status add_tensors() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      const RoleInfo& role = bump5::role_info(entry.slot.role);
      if (view_.naming == Naming::own) {
        add(i, entry.name(), std::nullopt);
        continue;
      }
      if (role.sources[0].empty()) continue;
      const bool is_bias = role.in_layer && role.sources[0].ends_with(".bias");
      MU_ASSIGN(const bool is_absent,
                is_bias ? is_all_zero(*model_->bump5->file, entry.offset, entry.size) : Result<bool>(false));
      if (is_absent) continue;  // the format has an entry that the model lacks
      const u64 parts = role.sources[1].empty() ? 1 : 2;
      for (u64 part = 0; part < parts; ++part) {
        const Excerpt excerpt = excerpt_of(entry, part, parts);
        add(i,
            role.in_layer ? fmt::format("blk.{}.{}", entry.slot.layer, role.sources[part])
                          : std::string(role.sources[part]),
            excerpt);
      }
    }
    return {};
  }

  // A matrix stacks its two parts vertically, a vector concatenates them.
  Excerpt excerpt_of(const Entry& entry, u64 part, u64 parts) const {
    const bump::Shape shape = bump5::shape_of(entry.slot.role, document().header).value_or(bump::Shape{});
    const Padding none{1, 1};
    if (shape.rows == 1) {
      const u64 columns = shape.columns / parts;
      return {0, 1, none, part * columns, columns, {columns, columns}};
    }
    const u64 rows = shape.rows / parts;
    return {part * rows, rows, none, 0, shape.columns, {shape.columns, shape.columns}};
  }

  void add(std::size_t place, std::string name, const std::optional<Excerpt>& excerpt) {
    tensors_->add(tensors_->catalog.tensors[place], std::move(name), entries_[place].word(), excerpt);
  }

  void set_side_facts() {
    const bump5::Header& h = document().header;
    bump::Dimensions d;
    d.layers = h.num_layers;
    d.context = h.context_len;
    d.embed = h.embed_dim;
    d.head_dim = h.head_dim;
    d.vocab = h.vocab_size;
    d.heads = h.num_heads;
    d.kv_heads = h.num_kv_heads;
    d.intermediate = h.intermediate;
    set_facts(d, side_.facts);
    side_.facts.tensors = tensors_->list().size();
    side_.facts.file_size = document().file_size;
  }

  const ComparisonView& view_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<EntryTensors> tensors_;
  std::vector<Entry> entries_;  // for each tensor of the catalog
  ComparedModel side_;
};

}  // namespace

Result<ComparedModel> compared_bump5(std::shared_ptr<const Model> model, const ComparisonView& view) {
  return Bump5Look(std::move(model), view).look();
}

}  // namespace modelutils
