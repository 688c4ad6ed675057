// BUMPWGT3 weights as a side of a comparison: by its own entries, or as the GGUF tensors that these were made of, with
// the padding of heads and rows left out and gate and up taken apart.
#include <fmt/core.h>

#include <algorithm>

#include "compare/compared_model.h"
#include "formats/bump/document.h"
#include "model/catalog.h"
#include "model/model.h"

namespace modelutils {

namespace {

using bump::Role;

struct OpenedBump {
  std::shared_ptr<const Model> model;
  Catalog catalog;
  bump::Dimensions dimensions;
  std::vector<bump::Entry> entries;  // for each tensor of the catalog
  std::vector<std::string> names;    // of the header's fields
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
    } else if (document().complete()) {
      side_.broken.push_back({.code = "bump-size",
                              .message = fmt::format("the file has {} bytes, which does not match its header and dtype "
                                                     "codes: the places of its tensors are unknown",
                                                     document().file_size)});
    }
    set_side_facts();
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
        catalog_of(opened.model->bump->file, bump::entries_of(document(), readings.front()), opened.dimensions);
    for (const bump::Entry& entry : bump::entries_of(document(), readings.front())) opened.entries.push_back(entry);
    return opened.entries.size() == opened.catalog.readable();
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
      MU_ASSIGN(const bool is_absent,
                is_bias ? is_all_zero(*opened_->model->bump->file, entry.offset, entry.size) : Result<bool>(false));
      if (is_absent) continue;  // the format has an entry that the model lacks
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
    side_.tensors.push_back(compared_entry(opened_->catalog, opened_->catalog.tensors[place], std::move(name),
                                           dtype_name(opened_->entries[place].dtype), excerpt, *side_.kept));
  }

  void set_side_facts() {
    set_facts(opened_->entries.empty() ? bump::dimensions_of(document().header) : opened_->dimensions, side_.facts);
    side_.facts.tensors = side_.tensors.size();
    side_.facts.file_size = document().file_size;
  }

  const ComparisonView& view_;
  std::shared_ptr<OpenedBump> opened_;
  ComparedModel side_;
};

}  // namespace

Result<ComparedModel> compared_bump(std::shared_ptr<const Model> model, const ComparisonView& view) {
  return BumpLook(std::move(model), view).look();
}

// BUMPWGT4 and BUMPWGT5 weights as a side of a comparison: by their own entries, or as the GGUF tensors that these were
// made of, with gate and up taken apart.

namespace {

using bump5::Content;
using bump5::Entry;
using bump5::RoleInfo;

struct OpenedBump5 {
  std::shared_ptr<const Model> model;
  std::vector<Entry> entries;
  Catalog catalog;
};

class Bump5Look {
 public:
  Bump5Look(std::shared_ptr<const Model> model, const ComparisonView& view)
      : view_(view), opened_(std::make_shared<OpenedBump5>()) {
    opened_->model = std::move(model);
  }

  Result<ComparedModel> look() {
    side_.path = opened_->model->path();
    side_.kind = fmt::format("BUMPWGT{}", document().version);
    side_.key_kind = KeyKind::bump;
    side_.naming = view_.naming;
    for (const bump5::HeaderField& field : bump5::header_fields()) {
      side_.keys.push_back(
          {field.name, gguf::ValueType::u64, side_.keys.size(), field.offset, document().header.*field.value, false});
    }
    std::vector<bump5::Reading> readings = bump5::readings_of(document());
    if (!readings.empty()) {
      opened_->entries = std::move(readings.front().entries);
      opened_->catalog =
          catalog_of(opened_->model->bump5->file, opened_->entries, document().header, opened_->model->format);
      MU_TRY(add_tensors());
    }
    set_side_facts();
    side_.opened = opened_;
    return std::move(side_);
  }

 private:
  const bump5::Document& document() const { return opened_->model->bump5->document; }

  Status add_tensors() {
    for (std::size_t i = 0; i < opened_->entries.size(); ++i) {
      const Entry& entry = opened_->entries[i];
      const RoleInfo& role = bump5::role_info(entry.slot.role);
      if (view_.naming == Naming::own) {
        add(i, entry.name(), nullptr);
        continue;
      }
      if (role.sources[0].empty()) continue;
      const bool is_bias = role.in_layer && role.sources[0].ends_with(".bias");
      MU_ASSIGN(const bool is_absent,
                is_bias ? is_all_zero(*opened_->model->bump5->file, entry.offset, entry.size) : Result<bool>(false));
      if (is_absent) continue;  // the format has an entry that the model lacks
      const u64 parts = role.sources[1].empty() ? 1 : 2;
      for (u64 part = 0; part < parts; ++part) {
        const Excerpt excerpt = excerpt_of(entry, part, parts);
        add(i,
            role.in_layer ? fmt::format("blk.{}.{}", entry.slot.layer, role.sources[part])
                          : std::string(role.sources[part]),
            &excerpt);
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

  void add(std::size_t place, std::string name, const Excerpt* excerpt) {
    side_.tensors.push_back(compared_entry(opened_->catalog, opened_->catalog.tensors[place], std::move(name),
                                           opened_->entries[place].word(), excerpt, *side_.kept));
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
    side_.facts.tensors = side_.tensors.size();
    side_.facts.file_size = document().file_size;
  }

  const ComparisonView& view_;
  std::shared_ptr<OpenedBump5> opened_;
  ComparedModel side_;
};

}  // namespace

Result<ComparedModel> compared_bump5(std::shared_ptr<const Model> model, const ComparisonView& view) {
  return Bump5Look(std::move(model), view).look();
}

}  // namespace modelutils
