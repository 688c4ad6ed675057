// BUMPWGT4 and BUMPWGT5 weights as a side of a comparison: by their own entries, or as the GGUF tensors that these were
// made of, with gate and up taken apart.
#include <fmt/core.h>

#include "compare/compared_model.h"
#include "compare/excerpt_values.h"
#include "model/catalog.h"

namespace modelutils {

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
