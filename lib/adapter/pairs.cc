#include "adapter/pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "adapter/expert_parameters.h"
#include "arch/adapter_facts.h"
#include "arch/expected_tensors.h"
#include "arch/geometry.h"
#include "base/checked_math.h"
#include "base/place.h"
#include "hf/tensor_names.h"
#include "tensor/shape.h"

namespace modelutils::adapter {

namespace {

// A view of single elements as one of rows and one of columns: element (i, j) of the tensor is element
// (rows[i], columns[j]) of the module's matrix [out, in], which is stored so or transposed.
bool split_view(RowUse& use, u64 rows, u64 columns, u64 out, u64 in) {
  const auto element = [&](u64 i, u64 j) { return use.view.source_row(i * columns + j); };
  for (const bool is_transposed : {false, true}) {
    const u64 stored_columns = is_transposed ? out : in;
    const auto row_of = [&](u64 at) { return is_transposed ? at % stored_columns : at / stored_columns; };
    const auto column_of = [&](u64 at) { return is_transposed ? at / stored_columns : at % stored_columns; };
    use.rows.clear();
    use.columns.clear();
    for (u64 i = 0; i < rows; ++i) use.rows.push_back(row_of(element(i, 0)));
    for (u64 j = 0; j < columns; ++j) use.columns.push_back(column_of(element(0, j)));
    bool is_product = true;
    for (u64 i = 0; i < rows && is_product; ++i) {
      for (u64 j = 0; j < columns && is_product; ++j) {
        const u64 at = element(i, j);
        is_product = row_of(at) == use.rows[i] && column_of(at) == use.columns[j];
      }
    }
    if (is_product) return true;
  }
  return false;
}

class Mapper {
 public:
  Mapper(Adapter& adapter, const Base& base, bool for_merging)
      : adapter_(adapter), base_(base), names_(*base.family), sizes_(base.sizes), for_merging_(for_merging) {
    // Names are those of the library that trained the adapter, whatever form the base has.
    sizes_.set("mlx", adapter.origin == Origin::mlx_lm ? 1 : 0);
    sizes_.set("hf", adapter.origin == Origin::peft ? 1 : 0);
    sizes_.set("back", 0);
    expected_ = arch::expected_tensors(*base.family, sizes_);
    for (std::size_t i = 0; i < expected_.size(); ++i) by_name_.emplace(expected_[i].name, i);
  }

  Result<std::vector<Pair>> map() {
    MU_TRY(resolve_expert_parameters(adapter_, names_, sizes_));
    for (std::size_t i = 0; i < adapter_.modules.size(); ++i) MU_TRY(add_module(i));
    std::vector<Pair> pairs;
    for (auto& [number, pair] : pairs_) pairs.push_back(std::move(pair));
    return pairs;
  }

 private:
  tl::unexpected<Error> fail(const Module& module, std::string code, std::string message) const {
    return input_error(std::move(code), std::move(message), at_tensor(module.name), {}, adapter_.path);
  }

  Status add_module(std::size_t number) {
    const Module& module = adapter_.modules[number];
    const std::string canonical = hf::canonical_name(module.name);
    auto match = names_.match(canonical + ".weight");
    if (!match || match->uses->empty()) match = names_.match(canonical);
    bool is_used = false;
    const arch::Tensor* done = nullptr;
    for (const arch::SourceUse& use : match ? *match->uses : std::vector<arch::SourceUse>{}) {
      if (use.side != arch::Side::weight || (use.row == done)) continue;
      const arch::SourceAlternative& alternative = names_.alternatives(*use.row)[use.alternative];
      if (!arch::holds(alternative.condition, sizes_, match->layer.value_or(0))) continue;
      const auto expected = by_name_.find(arch::gguf_name(*use.row, use.in_layer, match->layer.value_or(0), use.side));
      if (expected == by_name_.end()) continue;
      MU_TRY(add_use(number, use, alternative, *match, expected->second));
      is_used = true;
      const auto next = std::ranges::count_if(*match->uses, [&](const arch::SourceUse& other) {
        return other.row == use.row && other.alternative == use.alternative;
      });
      if (next == 1) done = use.row;  // a later alternative of this row is not taken, another part of this one is
    }
    if (is_used) return {};
    return fail(module, "adapter-target",
                fmt::format("names no matrix of the base, a {} of {} layers", base_.family->name,
                            sizes_.get(arch::symbol::layers)));
  }

  // Rows of the tensor that the parts in front of this one give.
  std::optional<u64> rows_before(const arch::SourceAlternative& alternative, std::size_t part, u64 layer) const {
    u64 rows = 0;
    for (std::size_t i = 0; i < part; ++i) {
      const auto view = arch::resolve_view(alternative.parts[i].view, sizes_, layer);
      const std::optional<u64> sum = view ? checked_add(rows, view->rows()) : std::nullopt;
      if (!sum) return std::nullopt;
      rows = *sum;
    }
    return rows;
  }

  Status add_use(std::size_t number, const arch::SourceUse& source, const arch::SourceAlternative& alternative,
                 const arch::SourceMatch& match, std::size_t expected_number) {
    const Module& module = adapter_.modules[number];
    const arch::ExpectedTensor& expected = expected_[expected_number];
    const arch::SourcePart& part = alternative.parts[source.part];
    const u64 layer = match.layer.value_or(0);
    const std::string_view lost = arch::pair_is_lost(*base_.family, source.row->name, base_.is_tied);
    if (!for_merging_ && !lost.empty()) {
      return fail(module, "adapter-merge",
                  fmt::format("would be a pair on {}, which {}; merge the adapter (mlx2gguf BASE --lora ADAPTER)",
                              expected.name, lost));
    }
    if (expected.ne.size() < 2 || part.operation == arch::Operation::add_one ||
        part.operation == arch::Operation::neg_exp || part.operation == arch::Operation::add ||
        part.operation == arch::Operation::unit_columns) {
      return fail(module, "adapter-merge", fmt::format("{} is computed from it, which no pair can say", expected.name));
    }
    Pair& pair = pairs_[expected_number];
    pair.name = expected.name;
    pair.row = source.row->name.starts_with('@') ? source.row->name.substr(1) : source.row->name;
    pair.ne = expected.ne;
    const u64 out = module.b.rows;
    const u64 in = module.a.columns;
    const u64 stack = module.b.stack;
    const auto wrong = [&] {
      return fail(module, "adapter-pair",
                  fmt::format("is a product of {} × {}{}, which does not fit {} with {}", in, out,
                              stack > 1 ? fmt::format(" × {}", stack) : "", expected.name, shape_text(expected.ne)));
    };
    const std::optional<u64> all_rows = checked_mul(out, stack);
    const std::optional<u64> elements = all_rows ? checked_mul(*all_rows, in) : std::nullopt;
    if (!elements) return wrong();
    RowUse use;
    use.by_element = part.is_of_elements;
    const u64 units = part.is_of_elements ? *elements : *all_rows;
    const auto view = part.view.empty() ? arch::whole_view(units) : arch::resolve_view(part.view, sizes_, layer);
    const std::optional<u64> before = rows_before(alternative, source.part, layer);
    if (!view || view->source_rows != units || !before) return wrong();
    use.view = *view;
    use.first_row = *before;
    const u64 rows_of_view = part.is_of_elements ? use.view.rows() / pair.columns() : use.view.rows();
    if (part.is_stacked()) use.first_row += match.expert.value_or(0) * rows_of_view;
    const u64 tensor_rows = pair.rows() * pair.slices();
    if (use.first_row > tensor_rows || rows_of_view > tensor_rows - use.first_row) return wrong();
    if (alternative.parts.size() == 1 && !part.is_stacked() && rows_of_view != tensor_rows) return wrong();
    if (!part.is_of_elements && in != pair.columns()) return wrong();
    if (part.operation == arch::Operation::times) {
      return fail(module, "adapter-merge", fmt::format("{} is scaled by a setting of the model", expected.name));
    }
    if (use.by_element) {
      use.is_product = stack == 1 && split_view(use, rows_of_view, pair.columns(), out, in);
      if (!use.is_product && !for_merging_) {
        return fail(module, "adapter-merge", fmt::format("{} has its elements in another order", expected.name));
      }
    }
    add_blocks(number, std::move(use), rows_of_view, pair);
    return {};
  }

  void add_blocks(std::size_t number, RowUse use, u64 rows_of_view, Pair& pair) {
    const Module& module = adapter_.modules[number];
    std::map<std::pair<u64, u64>, bool> slices;
    for (u64 row = use.first_row; row < use.first_row + rows_of_view; ++row) {
      const u64 from = use.by_element ? 0 : use.view.source_row(row - use.first_row) / module.b.rows;
      slices.try_emplace({row / pair.rows(), from}, true);
    }
    pair.uses.push_back(std::move(use));
    for (const auto& [slice, there] : slices) {
      u64& taken = ranks_[{pair.name, slice.first}];
      pair.blocks.push_back({number, pair.uses.size() - 1, slice.first, slice.second, taken});
      taken += module.rank();
      pair.rank = std::max(pair.rank, taken);
    }
  }

  Adapter& adapter_;
  const Base& base_;
  arch::Names names_;
  arch::Sizes sizes_;
  bool for_merging_;
  std::vector<arch::ExpectedTensor> expected_;
  std::map<std::string, std::size_t> by_name_;
  std::map<std::size_t, Pair> pairs_;  // by the number of the expected tensor
  std::map<std::pair<std::string, u64>, u64> ranks_;
};

}  // namespace

Result<std::vector<Pair>> map_pairs(Adapter& adapter, const Base& base, bool for_merging) {
  return Mapper(adapter, base, for_merging).map();
}

Result<PairValues> read_pair(const Adapter& adapter, const Pair& pair, const std::vector<double>& scales) {
  PairValues out;
  const u64 columns = pair.columns();
  const u64 rows = pair.rows();
  out.a.resize(static_cast<std::size_t>(pair.slices() * pair.rank * columns));
  out.b.resize(static_cast<std::size_t>(pair.slices() * rows * pair.rank));
  std::vector<float> a, b;
  for (std::size_t n = 0; n < pair.blocks.size(); ++n) {
    const Block& block = pair.blocks[n];
    const Module& module = adapter.modules[block.module];
    if (n == 0 || pair.blocks[n - 1].module != block.module) {
      MU_ASSIGN(a, adapter.read(module.a));
      MU_ASSIGN(b, adapter.read(module.b));
    }
    const RowUse& use = pair.uses[block.use];
    const auto value = [&](const std::vector<float>& values, const Factor& factor, u64 row, u64 column) {
      return values[static_cast<std::size_t>(factor.start + block.source_slice * factor.stack_stride + row * factor.row_stride +
                                             column * factor.column_stride)];
    };
    float* to_a = out.a.data() + (block.slice * pair.rank + block.rank_offset) * columns;
    for (u64 k = 0; k < module.rank(); ++k) {
      for (u64 j = 0; j < columns; ++j) {
        to_a[k * columns + j] = value(a, module.a, k, use.by_element ? use.columns[static_cast<std::size_t>(j)] : j);
      }
    }
    const u64 view_rows = use.by_element ? use.rows.size() : use.view.rows();
    for (u64 i = 0; i < rows; ++i) {
      const u64 row = block.slice * rows + i;
      if (row < use.first_row || row - use.first_row >= view_rows) continue;
      u64 from = row - use.first_row;
      from = use.by_element ? use.rows[static_cast<std::size_t>(from)] : use.view.source_row(from);
      if (!use.by_element && from / module.b.rows != block.source_slice) continue;
      float* to_b = out.b.data() + row * pair.rank + block.rank_offset;
      for (u64 k = 0; k < module.rank(); ++k) {
        const float stored = value(b, module.b, from % module.b.rows, k);
        to_b[k] = scales[n] == 1 ? stored : static_cast<float>(stored * scales[n]);
      }
    }
  }
  return out;
}

}  // namespace modelutils::adapter
