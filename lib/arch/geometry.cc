#include "arch/geometry.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "arch/names.h"
#include "arch/row_view.h"
#include "base/types.h"
#include "formats/hf/names.h"

namespace modelutils::arch {

namespace {

class Solver {
 public:
  Solver(const Family& family, const hf::Config& config, std::span<const ShapeFact> facts, Sizes sizes)
      : family_(family), config_(config), facts_(facts), sizes_(std::move(sizes)), keys_(keys_of(family)) {}

  Result<Sizes> solve(u64 n_layer) {
    if (n_layer == 0 || n_layer > max_layers) {
      return contradiction(field_of(symbol::layers),
                           fmt::format("the tensors have {} layers, 1 to {} are allowed", n_layer, max_layers));
    }
    n_layer_ = n_layer;
    sizes_.set(symbol::layers, n_layer);
    if (family_.config_sizes != nullptr) family_.config_sizes(config_, sizes_);
    derive_layers();
    solve_from_shapes();
    // Use one number of config.json at a time, from the last row to the first: each may allow other sizes to be
    // computed from the tensors.
    for (std::size_t i = keys_.size(); i-- > 0;) {
      if (const std::optional<u64> stated = stated_value(*keys_[i]); stated && use(*keys_[i])) {
        sizes_.set(keys_[i]->symbol, *stated);
        solve_from_shapes();
      }
    }
    MU_TRY(fall_back());
    MU_TRY(compare());
    MU_TRY(check_limits());
    return std::move(sizes_);
  }

 private:
  tl::unexpected<Error> contradiction(std::string_view field, std::string message) const {
    return input_error("convert-config", std::move(message), std::string(field), {}, config_.path);
  }

  const Key* key_of(std::string_view symbol) const {
    const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const Key* key) { return key->symbol == symbol; });
    return found == keys_.end() ? nullptr : *found;
  }
  std::string_view field_of(std::string_view symbol) const {
    const Key* key = key_of(symbol);
    return key == nullptr ? symbol : stated_field(config_, key->fields);
  }

  std::optional<u64> stated_value(const Key& key) const { return stated_size(config_, key); }

  // True if the number in config.json is needed: the size is not known yet. Expert counts are never taken from
  // config.json, because dense models may keep such fields.
  bool use(const Key& key) const {
    return !key.symbol.empty() && key.symbol != symbol::experts && sizes_.values(key.symbol).empty();
  }

  void solve_from_shapes() {
    for (bool more = true; more;) {
      more = false;
      for (const ShapeFact& fact : facts_) {
        if (!counts(fact)) continue;
        const std::vector<std::string_view> unknown = unknown_symbols(fact.expression, sizes_, fact.layer);
        if (unknown.size() != 1) continue;
        const std::optional<u64> value = arch::solve(fact.expression, unknown.front(), fact.value, sizes_, fact.layer);
        if (!value || *value == 0) continue;
        set(unknown.front(), fact.layer, *value);
        more = true;
      }
    }
  }

  bool counts(const ShapeFact& fact) const {
    return fact.condition.empty() ||
           (unknown_symbols(fact.condition, sizes_, fact.layer).empty() && holds(fact.condition, sizes_, fact.layer));
  }

  void set(std::string_view symbol, u64 layer, u64 value) {
    const Key* key = key_of(symbol);
    const bool per_layer = key != nullptr &&
                           (key->type == KeyType::u32_or_layers || key->type == KeyType::u32_where_used) &&
                           layer < n_layer_;
    if (!per_layer) return sizes_.set(symbol, value);
    std::vector<u64> values = sizes_.values(symbol);
    values.resize(static_cast<std::size_t>(n_layer_), Sizes::unknown);
    values[static_cast<std::size_t>(layer)] = value;
    sizes_.set_layers(symbol, std::move(values));
  }

  void derive_layers() {
    for (const Key* key : keys_) {
      if (key->symbol.empty() || key->derive_layers == nullptr) continue;
      std::vector<u64> values = key->derive_layers(config_, sizes_);
      if (values.size() != n_layer_) continue;
      sizes_.set_layers(key->symbol, std::move(values));
      sizes_.settle(key->symbol);
    }
  }

  Status fall_back() {
    for (const Key* key : keys_) {
      if (key->symbol.empty()) continue;
      sizes_.settle(key->symbol);
      if (!sizes_.values(key->symbol).empty()) continue;
      std::optional<u64> value;
      if (key->derive != nullptr) value = key->derive(config_, sizes_);
      if (!value && !key->fallback.empty()) value = evaluate(key->fallback, sizes_);
      if (value) {
        sizes_.set(key->symbol, *value);
      } else if (key->missing == Missing::refuse && holds(key->when, sizes_)) {
        return contradiction(stated_field(config_, key->fields),
                             "is missing, and cannot be derived from anything else");
      }
    }
    return {};
  }

  Status compare() const {
    for (const Key* key : keys_) {
      const std::optional<u64> stated = key->symbol.empty() ? std::nullopt : stated_value(*key);
      const std::vector<u64>& found = sizes_.values(key->symbol);
      if (!stated || found.size() != 1 || found.front() == *stated || !holds(key->when, sizes_)) continue;
      return contradiction(stated_field(config_, key->fields),
                           fmt::format("is {}, but the tensors say {}", *stated, found.front()));
    }
    return {};
  }

  Status check_limits() const {
    const u64 heads = sizes_.get(symbol::heads);
    const u64 kv_heads = sizes_.get(symbol::kv_heads);
    const bool uniform = sizes_.values(symbol::heads).size() == 1 && sizes_.values(symbol::kv_heads).size() == 1;
    if (uniform && (kv_heads == 0 || heads % kv_heads != 0)) {
      return contradiction(field_of(symbol::kv_heads),
                           fmt::format("{} query heads cannot share {} key/value heads", heads, kv_heads));
    }
    const u64 experts = sizes_.get(symbol::experts);
    const u64 used = sizes_.get(symbol::experts_used);
    if (experts > 0 && (experts > max_experts || used == 0 || used > experts)) {
      return contradiction(
          field_of(symbol::experts_used),
          fmt::format("is {} of {} experts; llama.cpp needs at least 1 of them, and supports at most {}", used, experts,
                      max_experts));
    }
    for (const Relation& relation : family_.relations) {
      if (evaluate(relation.left, sizes_) == evaluate(relation.right, sizes_)) continue;
      return contradiction(relation.field, std::string(relation.because));
    }
    return {};
  }

  const Family& family_;
  const hf::Config& config_;
  std::span<const ShapeFact> facts_;
  Sizes sizes_;
  std::vector<const Key*> keys_;
  u64 n_layer_ = 0;
};

void add(std::string_view expression, u64 value, u64 layer, std::vector<ShapeFact>& facts) {
  facts.push_back({std::string(expression), value, layer, {}});
}

}  // namespace

bool is_prediction_layer(const Names& names, const hf::Config& config, std::string_view canonical) {
  if (!config.block_count || config.count_field(prediction_fields).value_or(0) == 0) return false;
  return names.layer_of(canonical).value_or(0) >= *config.block_count;
}

std::string_view stated_field(const hf::Config& config, std::string_view fields) {
  std::string_view found = first_name(fields);
  bool is_stated = false;
  for_each_name(fields, [&](std::string_view field) {
    if (is_stated || !config.field(field)) return;
    found = field;
    is_stated = true;
  });
  return found;
}

void add_shape_facts(const Tensor& row, Side side, const SourcePart& part, bool alone, std::span<const u64> shape,
                     u64 stacked, u64 layer, std::vector<ShapeFact>& facts) {
  if (shape.empty()) return;
  std::vector<std::string_view> ne = dimensions_of(row.ne);
  if (side == Side::bias && ne.size() > 1) ne.erase(ne.begin());
  std::erase(ne, "1");
  if (part.is_of_elements) {
    if (side == Side::bias) return;
    u64 elements = 1;
    for (const u64 dimension : shape) elements = checked_mul(elements, dimension).value_or(0);
    return add(source_rows_expression(part.view), elements, layer, facts);
  }
  // Convolutions are stored as [n, 1, k] or [n, k, 1], and GGUF may have the dimension of 1 elsewhere, so drop it.
  std::vector<u64> squeezed(shape.begin(), shape.end());
  if (std::erase(ne, "1") > 0) std::erase(squeezed, u64{1});
  for (auto one = squeezed.begin(); squeezed.size() > ne.size() && one != squeezed.end();) {
    one = *one == 1 ? squeezed.erase(one) : one + 1;
  }
  shape = squeezed;
  if (shape.empty()) return;
  if (!part.view.empty()) {
    u64 rows = 1;
    const bool of_elements = side == Side::bias || ne.size() == 1 || shape.size() == 1;
    const std::size_t leading = of_elements ? shape.size() : shape.size() - 1;
    for (std::size_t d = 0; d < leading; ++d) rows = checked_mul(rows, shape[d]).value_or(0);
    add(source_rows_expression(part.view), rows, layer, facts);
    if (leading < shape.size()) add(ne.front(), shape.back(), layer, facts);
    // A vector stored as a matrix: its separate axes determine more sizes than their product.
    std::vector<std::string_view> stored;
    if (side == Side::weight) stored = dimensions_of(row.stored);
    for (std::size_t d = 0; ne.size() == 1 && stored.size() == shape.size() && d < shape.size(); ++d) {
      add(stored[d], shape[d], layer, facts);
    }
    return;
  }
  std::vector<u64> found(shape.rbegin(), shape.rend());
  if (part.is_stacked()) found.push_back(stacked);
  while (found.size() > ne.size() && found.back() == 1) found.pop_back();
  if (found.size() != ne.size()) return;
  for (std::size_t d = 0; d < ne.size(); ++d) {
    // If the tensor is only a part of the row, only its row length equals the whole's.
    if (alone || d == 0) add(ne[d], found[d], layer, facts);
  }
}

Result<Sizes> solve_sizes(const Family& family, const hf::Config& config, u64 n_layer, std::span<const ShapeFact> facts,
                          Sizes sizes) {
  return Solver(family, config, facts, std::move(sizes)).solve(n_layer);
}

std::optional<u64> stated_size(const hf::Config& config, const Key& key) {
  const std::optional<u64> stated = config.count_field(key.fields);
  return stated && *stated <= largest_size(key.symbol) ? stated : std::nullopt;
}

Status check_stated_sizes(const Family& family, const hf::Config& config) {
  for (const Key* key : keys_of(family)) {
    if (key->symbol.empty()) continue;
    const std::optional<u64> stated = config.count_field(key->fields);
    const u64 largest = largest_size(key->symbol);
    if (!stated || *stated <= largest) continue;
    return input_error("convert-config", fmt::format("is {}, at most {} are supported", *stated, largest),
                       std::string(stated_field(config, key->fields)), {}, config.path);
  }
  return {};
}

Sizes stated_sizes(const Family& family, const hf::Config& config) {
  Sizes sizes;
  if (family.config_sizes != nullptr) family.config_sizes(config, sizes);
  for (const Key* key : keys_of(family)) {
    if (key->symbol.empty() || !sizes.values(key->symbol).empty()) continue;
    if (key->derive_layers != nullptr) {
      sizes.set_layers(key->symbol, key->derive_layers(config, sizes));
      sizes.settle(key->symbol);
      if (!sizes.values(key->symbol).empty()) continue;
    }
    if (const std::optional<u64> stated = stated_size(config, *key)) sizes.set(key->symbol, *stated);
  }
  return sizes;
}

namespace {

// True if the shape is mlx-lm's, false if it is the published one; nullopt if both layouts have this shape.
std::optional<bool> is_shape_of_mlx(Telling telling, std::span<const u64> shape) {
  switch (telling) {
    case Telling::convolution:
      if (shape.size() != 3 || (shape[1] == 1) == (shape[2] == 1)) return std::nullopt;
      return shape[2] == 1;
    case Telling::tall_matrix:
      if (shape.size() != 2 || shape[0] == shape[1]) return std::nullopt;
      return shape[0] > shape[1];
    case Telling::name_of_mlx: return true;
    case Telling::published_name: break;
  }
  return false;
}

}  // namespace

void LayoutSigns::see(std::string_view name, std::span<const u64> shape) {
  if (!names_) return;
  const std::string canonical = names_->spelled(hf::canonical_name(name));
  if (hf::classify_name(canonical) != hf::NameClass::keep) return;
  for_each_name(family_.layer_prefixes, [&](std::string_view prefix) {
    const std::optional<LayerName> in_layer = layer_name(canonical, prefix);
    if (!in_layer || in_layer->layer >= config_.block_count.value_or(max_layers)) return;
    std::string_view module = in_layer->rest;
    if (module.ends_with(".weight")) module.remove_suffix(std::string_view(".weight").size());
    for (const LayoutSign& sign : family_.layout_signs) {
      const std::optional<bool> of_mlx = module == sign.module ? is_shape_of_mlx(sign.telling, shape) : std::nullopt;
      if (!of_mlx) continue;
      std::string_view& first = *of_mlx ? mlx_ : published_;
      if (first.empty()) first = name;
    }
  });
}

}  // namespace modelutils::arch
