#include "arch/prediction_rows.h"

#include <fmt/core.h>

#include <algorithm>

#include "formats/gguf/document.h"

namespace modelutils::arch {

bool is_prediction_alone(const gguf::SplitSet& set) {
  const gguf::Index keys(set.files.front().document);
  const u64 predicting = keys.unsigned_value(keys.arch_key("nextn_predict_layers")).value_or(0);
  const u64 blocks = keys.unsigned_value(keys.arch_key("block_count")).value_or(0);
  if (predicting == 0 || predicting >= blocks) return false;
  bool has_block = false;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const std::optional<u64> block = block_of(tensor.name);
      if (!block) continue;
      if (*block < blocks - predicting) return false;
      has_block = true;
    }
  }
  return has_block;
}

namespace {

// Modules before or after a block's layer that a directory stores once for all blocks ("mtp.fc"), and their names
// within a layer.
constexpr std::pair<std::string_view, std::string_view> joints[] = {
    {"fc", "eh_proj"},
    {"pre_fc_norm_embedding", "enorm"},
    {"pre_fc_norm_hidden", "hnorm"},
    {"norm", "shared_head.norm"},
    {"embed_tokens", "embed_tokens"},
};
// For families whose blocks are several directory layers: modules of the second layer, and their names in the block.
constexpr std::pair<std::string_view, std::string_view> second_part[] = {
    {"norm", "post_norm"},
    {"final_layernorm", "shared_head.norm"},
};

template <std::size_t Count>
std::string_view renamed_module(const std::pair<std::string_view, std::string_view> (&table)[Count],
                                std::string_view module) {
  const auto* row = std::ranges::find(table, module, &std::pair<std::string_view, std::string_view>::first);
  return row == std::end(table) ? std::string_view{} : row->second;
}

// Splits "fc.weight" into "fc" and ".weight".
std::pair<std::string_view, std::string_view> split_module(std::string_view name) {
  const std::size_t dot = name.find('.');
  return {name.substr(0, dot), dot == std::string_view::npos ? std::string_view{} : name.substr(dot)};
}

bool may_differ_by_layer(const Key& key) {
  return key.type == KeyType::u32_or_layers || key.type == KeyType::u32_where_used;
}

}  // namespace

std::optional<std::string> name_as_layer(const Names& names, const hf::Config& config, std::string_view canonical) {
  const Family& family = names.family();
  if (family.prediction.tensors.empty() || !config.block_count) return std::nullopt;
  if (is_prediction_layer(names, config, canonical)) return std::string(canonical);
  std::string_view rest = canonical;
  if (rest.starts_with("model.")) rest.remove_prefix(6);
  if (!rest.starts_with("mtp.")) return std::nullopt;
  rest.remove_prefix(4);
  const std::string_view prefix = first_name(family.layer_prefixes);
  const auto in_block = [&](u64 block, std::string_view name) {
    return fmt::format("{}{}.{}", prefix, *config.block_count + block, name);
  };
  if (!rest.starts_with("layers.")) {
    const auto [module, suffix] = split_module(rest);
    const std::string_view joint = renamed_module(joints, module);
    return joint.empty() ? std::nullopt : std::optional(in_block(0, std::string(joint) + std::string(suffix)));
  }
  const std::optional<LayerName> layer = layer_name(rest, "layers.");
  if (!layer || layer->layer >= max_layers) return std::nullopt;
  const u64 parts = family.prediction.parts;
  const auto [module, suffix] = split_module(layer->rest);
  const std::string_view other = layer->layer % parts == 1 ? renamed_module(second_part, module) : std::string_view{};
  return in_block(layer->layer / parts, std::string(other.empty() ? module : other) + std::string(suffix));
}

Sizes sizes_of_blocks(const Family& family, const Sizes& layers, u64 blocks, std::span<const ShapeFact> facts) {
  Sizes sizes = layers;
  const u64 trunk = layers.get(symbol::layers);
  sizes.set(symbol::layers, trunk + blocks);
  std::vector<std::string_view> open;
  for (const Key* key : keys_of(family)) {
    std::vector<u64> values = layers.values(key->symbol);
    if (values.size() != trunk || (trunk == 1 && !may_differ_by_layer(*key)) || values.empty()) continue;
    values.resize(static_cast<std::size_t>(trunk + blocks), Sizes::unknown);
    sizes.set_layers(key->symbol, std::move(values));
    open.push_back(key->symbol);
  }
  const auto set = [&](std::string_view symbol, u64 layer, u64 value) {
    std::vector<u64> values = sizes.values(symbol);
    if (layer < values.size()) values[static_cast<std::size_t>(layer)] = value;
    sizes.set_layers(symbol, std::move(values));
  };
  for (bool more = true; more;) {
    more = false;
    for (const ShapeFact& fact : facts) {
      if (fact.layer < trunk || fact.layer >= trunk + blocks || !holds(fact.condition, sizes, fact.layer)) continue;
      const std::vector<std::string_view> unknown = unknown_symbols(fact.expression, sizes, fact.layer);
      if (unknown.size() != 1 || std::ranges::find(open, unknown.front()) == open.end()) continue;
      const auto value = solve(fact.expression, unknown.front(), fact.value, sizes, fact.layer);
      if (!value) continue;
      set(unknown.front(), fact.layer, *value);
      more = true;
    }
  }
  for (const std::string_view symbol : open) {
    std::vector<u64> values = sizes.values(symbol);
    for (u64& value : values) {
      if (value == Sizes::unknown) value = values[static_cast<std::size_t>(trunk - 1)];
    }
    sizes.set_layers(symbol, std::move(values));
  }
  return stated_sizes_of_blocks(family, std::move(sizes), blocks);
}

Sizes stated_sizes_of_blocks(const Family& family, Sizes sizes, u64 blocks) {
  const u64 end = sizes.get(symbol::layers);
  const u64 trunk = end - std::min(blocks, end);
  for_each_name(family.prediction.sizes, [&](std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view symbol = text.substr(0, equals);
    const u64 value = evaluate(text.substr(equals + 1), sizes, trunk).value_or(0);
    std::vector<u64> values = sizes.values(symbol);
    if (values.size() != end) return sizes.set(symbol, value);
    for (u64 i = trunk; i < end; ++i) values[static_cast<std::size_t>(i)] = value;
    sizes.set_layers(symbol, std::move(values));
  });
  return sizes;
}

std::vector<ExpectedTensor> expected_block_tensors(const Family& family, const Sizes& sizes, u64 blocks) {
  const u64 end = sizes.get(symbol::layers);
  std::vector<ExpectedTensor> tensors;
  for (u64 layer = end - std::min(blocks, end); layer < end; ++layer) {
    for (const std::span<const Tensor> group : family.layer_tensors) {
      for (const Tensor& row : group) add_expected_tensors(row, sizes, layer, tensors);
    }
    for (const Tensor& row : family.prediction.tensors) add_expected_tensors(row, sizes, layer, tensors);
  }
  return tensors;
}

}  // namespace modelutils::arch
