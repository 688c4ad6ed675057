#include "model/adapter/pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "arch/geometry.h"
#include "arch/loader_forms.h"
#include "base/error.h"
#include "base/types.h"
#include "formats/hf/names.h"
#include "tensor/types.h"

namespace modelutils::adapter {

namespace {

u64 size_of(const gguf::TensorInfo& tensor, std::size_t dimension) {
  return dimension < tensor.ne.size() ? tensor.ne[dimension] : 1;
}

}  // namespace

u64 GgufPair::rank() const {
  return size_of(*b, 0);
}
u64 GgufPair::columns() const {
  return is_embedding() ? size_of(*b, 1) : size_of(*a, 0);
}
u64 GgufPair::rows() const {
  return is_embedding() ? size_of(*a, 1) : size_of(*b, 1);
}
u64 GgufPair::slices() const {
  return size_of(*b, 2);
}

double GgufAdapter::scale_of(const GgufPair& pair) const {
  const double stated = alpha.value_or(0);
  return stated == 0 || pair.rank() == 0 ? 1 : stated / static_cast<double>(pair.rank());
}

std::optional<GgufAdapter> gguf_adapter(const gguf::Document& document, const gguf::Index& index) {
  if (index.string_value("adapter.type") != "lora") return std::nullopt;
  GgufAdapter adapter;
  adapter.alpha = index.float_value("adapter.lora.alpha");
  for (const gguf::TensorInfo& tensor : document.tensors) {
    std::string_view target = tensor.name;
    if (!target.ends_with(a_ending)) continue;
    target.remove_suffix(a_ending.size());
    const gguf::TensorInfo* b = index.tensor(std::string(target) + std::string(b_ending));
    if (b != nullptr && index.tensor(tensor.name) == &tensor) adapter.pairs.push_back({target, &tensor, b});
  }
  return adapter;
}

bool is_b(std::string_view tensor) {
  if (tensor.ends_with(b_ending)) return true;
  for (const std::string_view part : {".lora_B", ".lora_embedding_B"}) {
    const std::size_t at = tensor.rfind(part);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = tensor.substr(at + part.size());
    return rest.empty() || (rest.front() == '.' && !rest.ends_with(".bias"));
  }
  return false;
}

namespace {

// Splits a view of elements into rows and columns: element (i, j) of the tensor is element (rows[i], columns[j]) of the
// module's matrix [out, in], which may be stored transposed. Returns false if there is no such split.
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
  Mapper(Adapter& adapter, const Base& base, bool for_merging, FindingLog* problems)
      : adapter_(adapter),
        base_(base),
        names_(*base.family),
        sizes_(base.sizes),
        for_merging_(for_merging),
        problems_(problems) {
    // The adapter uses the names of the library that trained it, whatever format the base has.
    sizes_.set("mlx", adapter.origin == Origin::mlx_lm ? 1 : 0);
    sizes_.set("hf", adapter.origin == Origin::peft ? 1 : 0);
    sizes_.set("back", 0);
    expected_ = arch::expected_tensors(*base.family, sizes_);
    for (std::size_t i = 0; i < expected_.size(); ++i) by_name_.emplace(expected_[i].name, i);
  }

  Result<MappedAdapter> map() {
    MU_TRY(resolve_expert_parameters(adapter_, names_, sizes_));
    for (std::size_t i = 0; i < adapter_.modules.size(); ++i) MU_TRY(unless_told(add_module(i)));
    MappedAdapter mapped;
    for (auto& [number, pair] : pairs_) mapped.pairs.push_back(std::move(pair));
    for (std::size_t i = 0; for_merging_ && i < adapter_.extras.size(); ++i) {
      if (adapter_.extras[i].kind == Extra::Kind::saved) MU_TRY(unless_told(add_saved(i, mapped.saved)));
    }
    return mapped;
  }

 private:
  // A matrix of the model in the adapter's layout: a stack of [out, in].
  struct Source {
    std::string_view name;
    u64 out = 0;
    u64 in = 0;
    u64 stack = 1;
    bool is_pair = false;  // made of factors; otherwise the values are given

    bool is_row() const { return out == 1 && stack == 1; }
  };
  // The location of the values in one tensor of the base.
  struct Place {
    std::size_t expected = 0;  // index into expected_
    const arch::Tensor* row = nullptr;
    RowUse use;
    u64 rows = 0;  // rows of the tensor that the use fills
  };

  Status unless_told(Status status) {
    if (status || problems_ == nullptr) return status;
    Finding problem = without_path(status.error(), Scope::model);
    if (problem.code == "adapter-tied") problem.severity = Severity::warning;  // because PEFT itself can apply it
    problems_->add(std::move(problem));
    return {};
  }

  // PEFT changes only the embedding and leaves the head unchanged, but a tied model has one tensor for both.
  Status check_tied(std::string_view name, const arch::Tensor& row) const {
    const bool is_embedding = row.name == "token_embd" || row.name == "@token_embd";
    const bool is_head = base_.is_tied && base_.family->cache.has_cache;  // encoders have none
    if (!is_embedding || !is_head || adapter_.ties_head) return {};
    return fail(name, "adapter-tied",
                "changes the embedding of a model with a tied output head: PEFT would leave the head unchanged, but a "
                "tied model has no separate tensor for it; with \"ensure_weight_tying\": true in adapter_config.json "
                "the head changes, too");
  }

  tl::unexpected<Error> fail(std::string_view module, std::string code, std::string message) const {
    return input_error(std::move(code), std::move(message), at_tensor(module), {}, adapter_.path);
  }

  // Returns every tensor that a matrix, vector or bias of the model contributes to.
  Result<std::vector<Place>> places(const Source& source, const std::string& canonical, arch::Side side) const {
    const auto match = names_.match(names_.spelled(canonical));
    std::vector<Place> all;
    const arch::Tensor* done = nullptr;
    for (const arch::SourceUse& use : match ? *match->uses : std::vector<arch::SourceUse>{}) {
      if (use.side != side || use.row == done) continue;
      const u64 layer = match->layer.value_or(0);
      const arch::SourceAlternative& alternative = names_.alternatives(*use.row)[use.alternative];
      if (!arch::holds(use.row->when, sizes_, layer) || !arch::holds(alternative.condition, sizes_, layer)) continue;
      const auto expected = by_name_.find(arch::gguf_name(*use.row, use.in_layer, layer, use.side));
      if (expected == by_name_.end()) continue;
      MU_ASSIGN(Place place, place_of(source, use, alternative, *match, expected->second));
      all.push_back(std::move(place));
      const auto parts = std::ranges::count_if(*match->uses, [&](const arch::SourceUse& other) {
        return other.row == use.row && other.alternative == use.alternative;
      });
      if (parts == 1) done = use.row;  // skip later alternatives of this row, but not other parts of this alternative
    }
    return all;
  }

  tl::unexpected<Error> no_target(std::string_view name) const {
    return fail(name, "adapter-target",
                fmt::format("does not exist in the base, a {} with {} layers", base_.family->name,
                            sizes_.get(arch::symbol::layers)));
  }

  Status add_module(std::size_t number) {
    const Module& module = adapter_.modules[number];
    const std::string canonical = hf::canonical_name(module.name);
    const Source source{module.name, module.b.rows, module.a.columns, module.b.stack, true};
    MU_ASSIGN(std::vector<Place> found, places(source, canonical + ".weight", arch::Side::weight));
    if (found.empty()) {
      MU_ASSIGN(found, places(source, canonical, arch::Side::weight));
    }
    if (found.empty()) return no_target(module.name);
    for (Place& place : found) {
      const arch::ExpectedTensor& expected = expected_[place.expected];
      MU_TRY(check_tied(module.name, *place.row));
      const std::string_view lost = arch::pair_is_lost(*base_.family, place.row->name, base_.is_tied);
      if (!for_merging_ && !lost.empty()) {
        return fail(
            module.name, "adapter-merge",
            fmt::format("would become a LoRA pair on {}, which {}; merge the adapter (mlx2gguf BASE --lora ADAPTER)",
                        expected.name, lost));
      }
      if (place.use.by_element && !place.use.is_product && !for_merging_) {
        return fail(module.name, "adapter-merge",
                    fmt::format("{} stores its elements in another order; merge the adapter", expected.name));
      }
      if (expected.ne.size() < 2 && !source.is_row()) {
        return fail(module.name, "adapter-pair", fmt::format("{} is not a matrix", expected.name));
      }
      Pair& pair = pairs_[place.expected];
      pair.name = expected.name;
      pair.row = place.row->name.starts_with('@') ? place.row->name.substr(1) : place.row->name;
      pair.ne = expected.ne;
      add_blocks(number, std::move(place.use), place.rows, pair);
    }
    return {};
  }

  Status add_saved(std::size_t number, std::vector<Saved>& saved) const {
    const Extra& extra = adapter_.extras[number];
    const bool is_bias = extra.name.ends_with(".bias");
    const Source source{extra.name, extra.values.rows, extra.values.columns, extra.values.stack};
    MU_ASSIGN(std::vector<Place> found,
              places(source, hf::canonical_name(extra.name), is_bias ? arch::Side::bias : arch::Side::weight));
    if (found.empty()) return no_target(extra.name);
    for (Place& place : found) {
      MU_TRY(check_tied(extra.name, *place.row));
      if (place.use.by_element) {
        return fail(extra.name, "adapter-pair", "replaces a tensor that a GGUF stores in another order of elements");
      }
      saved.push_back({number, expected_[place.expected].name, std::move(place.use)});
    }
    return {};
  }

  // Returns the number of the tensor's rows that come from parts before this one; nullopt on overflow.
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

  Result<Place> place_of(const Source& source, const arch::SourceUse& used, const arch::SourceAlternative& alternative,
                         const arch::SourceMatch& match, std::size_t expected_number) const {
    const arch::ExpectedTensor& expected = expected_[expected_number];
    const arch::SourcePart& part = alternative.parts[used.part];
    const u64 layer = match.layer.value_or(0);
    // In a GGUF, a gate of one row is a vector; a pair can be added to it as to a matrix.
    const bool is_vector = expected.ne.size() == 1 && !(source.is_pair && source.is_row());
    if (!is_vector && part.operation != arch::Operation::none) {
      return fail(
          source.name, "adapter-pair",
          fmt::format("{} is computed from it with a model setting, so an adapter cannot be added", expected.name));
    }
    const auto wrong = [&] {
      return fail(source.name, "adapter-pair",
                  fmt::format("is {} × {}{}, which does not fit {} with {}", source.in, source.out,
                              source.stack > 1 ? fmt::format(" × {}", source.stack) : "", expected.name,
                              shape_text(expected.ne)));
    };
    const std::optional<u64> all_rows = checked_mul(source.out, source.stack);
    const std::optional<u64> elements = all_rows ? checked_mul(*all_rows, source.in) : std::nullopt;
    if (!elements || expected.ne.empty()) return wrong();
    Place place;
    place.expected = expected_number;
    place.row = used.row;
    RowUse& use = place.use;
    use.by_element = part.is_of_elements && !is_vector;
    const u64 columns = is_vector ? 1 : expected.ne.front();
    const u64 units = use.by_element || is_vector ? *elements : *all_rows;
    const auto view = part.view.empty() ? arch::whole_view(units) : arch::resolve_view(part.view, sizes_, layer);
    const std::optional<u64> before = rows_before(alternative, used.part, layer);
    if (!view || view->source_rows != units || !before) return wrong();
    use.view = *view;
    use.first_row = *before;
    place.rows = use.by_element ? use.view.rows() / columns : use.view.rows();
    if (part.is_stacked()) use.first_row += match.expert.value_or(0) * place.rows;
    const u64 tensor_rows = element_count(expected.ne).value_or(0) / columns;
    if (use.first_row > tensor_rows || place.rows > tensor_rows - use.first_row) return wrong();
    if (alternative.parts.size() == 1 && !part.is_stacked() && place.rows != tensor_rows) return wrong();
    if (!use.by_element && !is_vector && source.in != columns) return wrong();
    if (use.by_element) {
      use.is_product = source.stack == 1 && split_view(use, place.rows, columns, source.out, source.in);
    }
    return place;
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
  FindingLog* problems_;
  std::vector<arch::ExpectedTensor> expected_;
  std::map<std::string, std::size_t> by_name_;
  std::map<std::size_t, Pair> pairs_;  // by index into expected_
  std::map<std::pair<std::string, u64>, u64> ranks_;
};

}  // namespace

Result<MappedAdapter> map_pairs(Adapter& adapter, const Base& base, bool for_merging, FindingLog* problems) {
  return Mapper(adapter, base, for_merging, problems).map();
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
      return values[static_cast<std::size_t>(factor.start + block.source_slice * factor.stack_stride +
                                             row * factor.row_stride + column * factor.column_stride)];
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

Status check_scaled(const Adapter& adapter, const Base& base, const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) {
    const auto scaled = base.scaled.find(pair.name);
    if (scaled == base.scaled.end()) continue;
    const std::string_view lost = arch::scaled_pair_is_lost(*base.family, pair.row, scaled->second);
    if (lost.empty()) continue;
    return input_error(
        "adapter-merge",
        fmt::format("would become a LoRA pair on {}, which {}; merge the adapter (mlx2gguf BASE --lora ADAPTER)",
                    pair.name, lost),
        at_tensor(adapter.modules[pair.blocks.front().module].name), {}, adapter.path);
  }
  return {};
}

}  // namespace modelutils::adapter
