// BUMPWGT3 weights as a side of a comparison: by its own entries, or as the GGUF tensors that these were made of, with
// the padding of heads and rows left out and gate and up taken apart.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bump/parse.h"
#include "compare/compared_model.h"
#include "model/bump_catalog.h"
#include "model/bump_config.h"
#include "tensor/dequantize.h"

namespace modelutils {

namespace {

using bump::Role;

// Of `of` neighbours the first `keep` count, again and again.
struct Padding {
  u64 keep = 1;
  u64 of = 1;
};

// Which part of an entry is a tensor: rows from `first_row` on, and columns of each row.
struct Excerpt {
  u64 first_row = 0;
  u64 rows = 0;
  Padding row_padding;
  u64 first_column = 0;
  u64 columns = 0;
  Padding column_padding;
};

struct OpenedBump {
  std::shared_ptr<const Model> model;
  Catalog catalog;
  bump::Dimensions dimensions;
  std::vector<bump::Entry> entries;  // for each tensor of the catalog
  std::vector<std::string> names;    // of the header's fields
};

// Where the kept element `index` is.
u64 place_of(u64 index, const Padding& padding) {
  return index / padding.keep * padding.of + index % padding.keep;
}

class ExcerptValues : public TensorValues {
 public:
  ExcerptValues(const Catalog& catalog, const CatalogTensor& tensor, const Excerpt& excerpt)
      : TensorValues({*tensor.type, {}, {}, {}, false}, excerpt.rows * excerpt.columns, excerpt.columns),
        file_(*catalog.files[tensor.file].source),
        excerpt_(excerpt),
        offset_(tensor.offset),
        row_bytes_(*row_bytes(*tensor.type, tensor.ne.front())) {}

  Status read(u64 first, u64 count, StoredRows& out) const override {
    const TypeInfo& type = type_info(storage().type);
    const auto bytes_of = [&](u64 elements) { return elements / type.block_elements * type.block_bytes; };
    out.values.resize(count * bytes_of(excerpt_.columns));
    std::vector<std::byte> row(row_bytes_);
    MutableBytes left(out.values);
    for (u64 i = first; i < first + count; ++i) {
      const u64 stored = excerpt_.first_row + place_of(i, excerpt_.row_padding);
      MU_TRY(file_.read_exact(offset_ + stored * row_bytes_, row));
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
    dequantize(storage().type, rows.values, out);
  }

 private:
  const ByteSource& file_;
  Excerpt excerpt_;
  u64 offset_;
  u64 row_bytes_;
};

// The part of an entry that is its source number `part` (gate or up; otherwise 0).
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
      : view_(view), opened_(std::make_shared<OpenedBump>()) {
    opened_->model = std::move(model);
  }

  Result<ComparedModel> look() {
    side_.path = opened_->model->path();
    side_.kind = "BUMPWGT3";
    side_.key_kind = KeyKind::bump;
    add_header();
    if (lay_out()) {
      MU_TRY(add_tensors());
    }
    set_facts();
    side_.opened = opened_;
    return std::move(side_);
  }

 private:
  const bump::Document& document() const { return opened_->model->bump->document; }

  void add_header() {
    for (const bump::HeaderField& field : bump::header_fields()) {
      side_.keys.push_back(
          {field.name, gguf::ValueType::u64, side_.keys.size(), field.offset, document().header.*field.value, false});
    }
  }

  // Which entries there are; false if the header, config.json and the file's size do not tell.
  bool lay_out() {
    OpenedBump& opened = *opened_;
    if (!document().complete()) return false;
    FindingLog told_by_the_rules;
    const std::optional<BumpConfig> config = read_bump_config(opened.model->path(), told_by_the_rules);
    bump::Geometry geometry;
    if (config) geometry = {config->dimensions.kv_heads, config->dimensions.intermediate};
    std::vector<bump::Reading> readings = bump::readings_of(document(), geometry, 1);
    if (readings.empty()) readings = bump::readings_of(document(), {}, 1);
    if (readings.empty()) return false;
    opened.dimensions = bump::dimensions_of(document(), readings.front().geometry);
    opened.catalog =
        bump_catalog(opened.model->bump->file, bump::entries_of(document(), readings.front()), opened.dimensions);
    for (const bump::Entry& entry : bump::entries_of(document(), readings.front())) opened.entries.push_back(entry);
    return opened.entries.size() == opened.catalog.tensors.size();
  }

  // Are the parts that are kept parts of the entries?
  bool is_consistent() const {
    const bump::Dimensions& d = opened_->dimensions;
    return d.head_dim > 0 && d.head_dim <= d.aligned_head && d.embed <= d.aligned_embed;
  }

  Status add_tensors() {
    const bool by_entry = view_.naming == Naming::own || !is_consistent();
    side_.naming = by_entry ? Naming::own : Naming::gguf;
    for (std::size_t i = 0; i < opened_->entries.size(); ++i) {
      const bump::Entry& entry = opened_->entries[i];
      if (by_entry) {
        add(i, entry.name(), nullptr);
        continue;
      }
      const bump::RoleInfo& role = bump::role_info(entry.role);
      if (role.sources[0].empty()) continue;
      const bool is_bias = role.in_layer && role.sources[0].ends_with(".bias");
      MU_ASSIGN(const bool is_absent, is_bias ? is_zero(entry) : Result<bool>(false));
      if (is_absent) continue;  // the model has none; BUMPWGT3 has room for it all the same
      for (std::size_t part = 0; part < 2 && !role.sources[part].empty(); ++part) {
        const Excerpt excerpt = excerpt_of(entry, opened_->dimensions, part);
        add(i,
            role.in_layer ? fmt::format("blk.{}.{}", entry.layer, role.sources[part]) : std::string(role.sources[part]),
            &excerpt);
      }
    }
    return {};
  }

  void add(std::size_t place, std::string name, const Excerpt* excerpt) {
    const CatalogTensor& stored = opened_->catalog.tensors[place];
    ComparedTensor tensor;
    tensor.name = std::move(name);
    tensor.type =
        stored.type ? std::string(type_name(*stored.type)) : std::string(dtype_name(opened_->entries[place].dtype));
    tensor.ne = stored.ne;
    tensor.bytes = stored.bytes;
    tensor.offset = stored.offset;
    if (!stored.type) {
      tensor.problem = "the type is not known";
    } else if (excerpt == nullptr) {
      tensor.values = [catalog = &opened_->catalog, &stored] { return values_for_comparison(*catalog, stored); };
    } else {
      set_excerpt(stored, *excerpt, tensor);
    }
    if (stored.type) tensor.bits = 8.0 * type_info(*stored.type).block_bytes / type_info(*stored.type).block_elements;
    side_.tensors.push_back(std::move(tensor));
  }

  void set_excerpt(const CatalogTensor& stored, const Excerpt& excerpt, ComparedTensor& tensor) {
    tensor.ne = excerpt.rows == 1 ? std::vector<u64>{excerpt.columns} : std::vector<u64>{excerpt.columns, excerpt.rows};
    const u64 block = type_info(*stored.type).block_elements;
    for (const u64 edge :
         {excerpt.columns, excerpt.column_padding.keep, excerpt.column_padding.of, excerpt.first_column}) {
      if (edge % block != 0) {
        tensor.problem = "heads are not made of whole blocks";
        return;
      }
    }
    tensor.values = [catalog = &opened_->catalog, &stored, excerpt] {
      return std::make_unique<ExcerptValues>(*catalog, stored, excerpt);
    };
  }

  Result<bool> is_zero(const bump::Entry& entry) const {
    std::vector<std::byte> piece;
    for (u64 done = 0; done < entry.size; done += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<u64>(entry.size - done, 64 * 1024)));
      MU_TRY(opened_->model->bump->file->read_exact(entry.offset + done, piece));
      if (std::ranges::any_of(piece, [](std::byte byte) { return byte != std::byte{0}; })) return false;
    }
    return true;
  }

  void set_facts() {
    const bump::Dimensions d = opened_->entries.empty() ? bump::dimensions_of(document().header) : opened_->dimensions;
    ModelFacts& facts = side_.facts;
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
    facts.tensors = side_.tensors.size();
    facts.file_size = document().file_size;
  }

  const ComparisonView& view_;
  std::shared_ptr<OpenedBump> opened_;
  ComparedModel side_;
};

}  // namespace

Result<ComparedModel> compared_bump(std::shared_ptr<const Model> model, const ComparisonView& view) {
  return BumpLook(std::move(model), view).look();
}

}  // namespace modelutils
