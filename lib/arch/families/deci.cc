// Nemotron NAS (DeciLM): a llama whose layers were found by an architecture search. Head counts and widths differ
// between layers. A layer may lack attention, the feed-forward part or both; in some, a matrix replaces attention.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::deci {

constexpr u64 width_step = 256;

// An element of block_configs.
struct Block {
  u64 heads = 0, key_heads = 0;  // heads without key heads: a matrix replaces attention
  u64 width = 0;                 // of the feed-forward part
  bool has_matrix_for_feed_forward = false;
};

static bool flag_of(json::Element part, std::string_view name) {
  return json::bool_member(part, name).value_or(false);
}
// DeciLM's formula: multiplier × 2/3 of the embedding width, rounded up to a multiple of width_step.
static u64 width_of(double multiplier, u64 embedding) {
  const double width = std::floor(2 * multiplier * static_cast<double>(embedding) / 3);
  if (!(width >= 0 && width <= static_cast<double>(largest_size("F")))) return 0;
  return (static_cast<u64>(width) + width_step - 1) / width_step * width_step;
}
static std::vector<Block> blocks_of(const hf::Config& config) {
  std::vector<Block> blocks;
  const auto field = config.field("block_configs");
  json::Array list;
  if (!field || !field->get(list)) return blocks;
  for (const json::Element one : list) {
    const auto attention = json::member(one, "attention");
    const auto feed_forward = json::member(one, "ffn");
    if (!attention || !feed_forward) return {};
    Block block;
    const u64 heads = config.count_field(hf::fields::heads).value_or(0);
    const u64 in_group = json::u64_member(*attention, "n_heads_in_group").value_or(0);
    const bool has_matrix = flag_of(*attention, "replace_with_linear");
    const bool has_heads = in_group > 0 && !has_matrix && !flag_of(*attention, "no_op");
    block.heads = has_heads || has_matrix ? heads : 0;
    block.key_heads = has_heads ? heads / in_group : 0;
    block.has_matrix_for_feed_forward = flag_of(*feed_forward, "replace_with_linear");
    if (!block.has_matrix_for_feed_forward && !flag_of(*feed_forward, "no_op")) {
      block.width = width_of(json::number_member(*feed_forward, "ffn_mult").value_or(0),
                             config.u64_field(hf::fields::width).value_or(0));
    }
    blocks.push_back(block);
  }
  return blocks;
}
template <u64 Block::*part>
std::vector<u64> of_layers(const hf::Config& config, const Sizes&) {
  std::vector<u64> values;
  for (const Block& block : blocks_of(config)) values.push_back(block.*part);
  return values;
}
// DeciLM 7B lists the KV heads per layer.
static std::vector<u64> key_heads(const hf::Config& config, const Sizes& sizes) {
  std::vector<u64> listed = counts_of_layers(config, "num_key_value_heads_per_layer");
  return listed.empty() ? of_layers<&Block::key_heads>(config, sizes) : listed;
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "131072", .epsilon = "1e-5"});
  Key& width = named(keys, "feed_forward_length");
  width.type = KeyType::u32_or_layers;  // 0 marks layers without a feed-forward part
  width.derive_layers = of_layers<&Block::width>;
  named(keys, "attention.head_count").derive_layers = of_layers<&Block::heads>;
  named(keys, "attention.head_count_kv").derive_layers = key_heads;
  return keys;
}();

constexpr auto attention_rows = [] {
  auto rows = attention_of_pairs;
  for (Tensor& row : rows) row.when = "K";
  named(rows, "attn_norm").when = named(rows, "attn_output").when = "H";
  named(rows, "ffn_norm").when = "F";
  named(rows, "attn_output").source =
      "[K] self_attn.o_proj | [hf] self_attn.linear_attn | self_attn.linear | self_attn.linear_attn";
  return rows;
}();
constexpr auto feed_forward_rows = [] {
  auto rows = gated_feed_forward_with_biases;
  for (Tensor& row : rows) row.when = "F";
  return rows;
}();
constexpr Relation relations[] = {whole_width};

static Status check_blocks(KeyWriter& out) {
  const std::vector<Block> blocks = blocks_of(out.config());
  if (blocks.empty() && !out.config().field("block_configs")) return {};
  const u64 layers = out.size("L");
  const auto refuse = [&](std::size_t layer, std::string_view what) {
    return out.refuse("block_configs", fmt::format("gives layer {} {}", layer, what));
  };
  if (blocks.size() != layers) return out.refuse("block_configs", "does not have an entry for each layer");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    if (block.has_matrix_for_feed_forward) {
      return refuse(i, "a matrix instead of a feed-forward part, which llama.cpp does not support");
    }
    if (block.heads > 0 && block.width == 0) {
      return refuse(i, "attention without a feed-forward part: llama.cpp skips the whole layer");
    }
  }
  if (blocks.front().heads == 0) return refuse(0, "no attention, but llama.cpp takes the head size from this layer");
  if (blocks.back().width == 0)
    return refuse(blocks.size() - 1, "nothing to do, which llama.cpp does not support for the last layer");
  return {};
}

// Restores the config's block_configs, with widths as multipliers.
static Status describe(ConfigWriter& out) {
  std::vector<hf::ConfigValue> blocks;
  u64 heads = 0;
  for (u64 i = 0; i < out.size("L"); ++i) heads = std::max(heads, out.sizes().get("H", i));
  for (u64 i = 0; i < out.size("L"); ++i) {
    const u64 width = out.sizes().get("F", i), keys = out.sizes().get("K", i);
    const bool has_matrix = keys == 0 && out.sizes().get("H", i) > 0;
    if (width % width_step != 0) {
      return out.refuse("feed_forward_length",
                        fmt::format("has {}, but config.json has multiples of {} only", width, width_step));
    }
    hf::ConfigMembers attention = {{"no_op", keys == 0 && !has_matrix}, {"replace_with_linear", has_matrix}};
    attention.push_back({"n_heads_in_group", keys > 0 ? hf::ConfigValue(heads / keys) : nullptr});
    hf::ConfigMembers feed_forward = {{"no_op", width == 0}, {"replace_with_linear", false}};
    const double multiplier = 1.5 * static_cast<double>(width) / static_cast<double>(out.size("E"));
    feed_forward.push_back({"ffn_mult", width > 0 ? hf::ConfigValue(multiplier) : nullptr});
    blocks.push_back(hf::ConfigMembers{{"attention", std::move(attention)}, {"ffn", std::move(feed_forward)}});
  }
  out.set("block_configs", std::move(blocks));
  out.set("num_attention_heads", heads);
  out.set("num_key_value_heads", nullptr);
  out.set("intermediate_size", nullptr);
  return {};
}
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
    {"mlp_bias", "@ffn_gate.bias"},
};

constexpr Family deci = {
    .name = "deci",
    .gguf = "deci",
    .classes = "DeciLMForCausalLM",
    .model_types = "nemotron-nas|deci",
    .about = "heads and widths differ from layer to layer; some layers have no attention or no feed-forward part",
    .mlx_rope_theta = 500000,
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention_rows, feed_forward_rows},
    .first_tensors = embedding_and_rope,
    .fixed = {{"partial_rotary_factor", "1", Severity::error, "llama.cpp rotates the whole head"}},
    .relations = relations,
    .checks = {check_blocks},
    .config = {.members = members, .describe = describe},
};
MU_FAMILY(deci);

}  // namespace modelutils::arch::families::deci
