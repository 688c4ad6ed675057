// LFM2: short convolutions in most layers, attention with norms of queries and keys in the others; with or without
// experts.
#include <algorithm>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::lfm2 {

constexpr std::string_view bidirectional_class = "Lfm2BidirectionalModel";

// Returns 0 KV heads for convolution layers, by which the loader recognises them.
static std::vector<u64> key_heads(const hf::Config& config, const Sizes& sizes) {
  const u64 heads =
      config.count_field(hf::fields::kv_heads).value_or(config.count_field(hf::fields::heads).value_or(0));
  std::vector<u64> of_layers(static_cast<std::size_t>(sizes.get(symbol::layers)), 0);
  if (!config.layer_types.empty()) {
    if (config.layer_types.size() != of_layers.size()) return {};
    std::transform(config.layer_types.begin(), config.layer_types.end(), of_layers.begin(),
                   [&](const std::string& type) { return type == "full_attention" ? heads : 0; });
    return of_layers;
  }
  const auto field = config.field("full_attn_idxs");
  json::Array list;
  if (!field || !field->get(list)) return {};
  for (const json::Element one : list) {
    uint64_t layer = 0;
    if (!one.get(layer) || layer >= of_layers.size()) return {};
    of_layers[static_cast<std::size_t>(layer)] = heads;
  }
  return of_layers;
}

// The same number in every layer, although only some layers have tensors that show it.
static std::vector<u64> query_heads(const hf::Config& config, const Sizes& sizes) {
  const std::optional<u64> heads = config.count_field(hf::fields::heads);
  if (!heads) return {};
  return std::vector<u64>(static_cast<std::size_t>(sizes.get(symbol::layers)), *heads);
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "128000"});
  named(keys, "feed_forward_length").fields = {};  // config.json states the width before its adjustment
  named(keys, "attention.head_count").derive_layers = query_heads;
  named(keys, "attention.head_count_kv").derive_layers = key_heads;
  return keys;
}();
constexpr Key own[] = {
    {.name = "shortconv.l_cache", .fields = "conv_L_cache", .symbol = "C", .need = Need::required},
};
constexpr Key mixture[] = {
    expert_width,
    leading_dense,
    {.name = "expert_gating_func", .fallback = "2", .missing = Missing::assume, .when = "X"},
};
constexpr auto weights = weights_of_experts("1");
constexpr Tensor layer[] = {
    {"attn_norm", "E", "operator_norm"},
    {.name = "attn_q", .ne = "E,H*D", .source = "self_attn.q_proj", .when = "K"},
    {.name = "attn_k", .ne = "E,K*D", .source = "self_attn.k_proj", .when = "K"},
    {.name = "attn_v", .ne = "E,K*D", .source = "self_attn.v_proj", .when = "K"},
    {.name = "attn_q_norm", .ne = "D", .source = "self_attn.q_layernorm", .when = "K"},
    {.name = "attn_k_norm", .ne = "D", .source = "self_attn.k_layernorm", .when = "K"},
    {.name = "attn_output", .ne = "H*D,E", .source = "self_attn.out_proj", .when = "K"},
    {.name = "shortconv.conv",
     .ne = "C,E",
     .source = "conv.conv",
     .when = "!K",
     .f32 = true,
     .stored = "[mlx] E,C,1 | E,1,C"},
    {.name = "shortconv.in_proj", .ne = "E,3*E", .source = "conv.in_proj", .when = "!K"},
    {.name = "shortconv.out_proj", .ne = "E,E", .source = "conv.out_proj", .when = "!K"},
    {"ffn_norm", "E", "ffn_norm"},
};
// mlx-lm only renames the dense layers of models with experts.
constexpr auto dense = [] {
  auto rows = feed_forward_of(dense_layers);
  named(rows, "ffn_gate").source = "feed_forward.w1";
  named(rows, "ffn_up").source = "feed_forward.w3";
  named(rows, "ffn_down").source = "feed_forward.w2";
  return rows;
}();
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "feed_forward.gate", .when = expert_layers, .f32 = true},
    {.name = "@exp_probs_b.bias", .ne = "X", .source = "feed_forward.expert_bias", .when = expert_layers},
    {.name = "ffn_gate_exps", .ne = "E,Fx,X", .source = "feed_forward.experts.#.w1", .when = expert_layers},
    {.name = "ffn_up_exps", .ne = "E,Fx,X", .source = "feed_forward.experts.#.w3", .when = expert_layers},
    {.name = "ffn_down_exps", .ne = "Fx,E,X", .source = "feed_forward.experts.#.w2", .when = expert_layers},
};
constexpr auto dense_everywhere = [] {
  auto rows = feed_forward_of({});
  named(rows, "ffn_gate").source = "feed_forward.w1 | feed_forward.gate_proj";
  named(rows, "ffn_up").source = "feed_forward.w3 | feed_forward.up_proj";
  named(rows, "ffn_down").source = "feed_forward.w2 | feed_forward.down_proj";
  return rows;
}();
constexpr std::array<Tensor, 2> last = {{
    {"token_embd_norm", "E", "model.embedding_norm"},
    {"output", "E,V", "lm_head"},
}};
// Embedding models end in a dense layer, and may see the whole text.
constexpr auto last_with_dense =
    joined(last, std::array<Tensor, 1>{{{"dense_2", "E,Q", "1_Dense.linear", Need::optional}}});
static Status write_causal(KeyWriter& out, const Key& key) {
  if (out.config().architecture == bidirectional_class) out.flag(key.name, false);
  return {};
}
constexpr Key embedding_model[] = {
    {.name = "embedding_length_out", .symbol = "Q", .when = "Q"},
    {.name = "attention.causal", .type = KeyType::flag, .write = write_causal},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"conv_bias", "false", Severity::error, "llama.cpp has no bias of the convolution"},
};
constexpr Fixed mixture_fixed[] = {
    rotates_halves,
    named(fixed, "conv_bias"),
    normalises_weights,
    {"use_expert_bias", "true", Severity::error, "llama.cpp needs the selection bias of the experts"},
};
constexpr Recurrence short_convolutions = {Recurrence::Layers::without_kv_heads, Recurrence::State::short_convolution};
// The width is written as already adjusted, so the adjustment is switched off.
static Status describe(ConfigWriter& out) {
  out.set("block_auto_adjust_ff_dim", false);
  out.set("full_attn_idxs", layers_with_heads(out, 0));
  out.set("layer_types", kinds_by_heads(out, "full_attention", "conv"));
  if (out.flag("attention.causal") == false) set_identity(out, bidirectional_class, "lfm2");
  return {};
}
static Status describe_mixture(ConfigWriter& out) {
  out.set("layer_types", kinds_by_heads(out, "full_attention", "conv"));
  return {};
}
constexpr Member members[] = {
    {"block_dim", "=E"},
    {"block_ff_dim", "=F"},
    {"intermediate_size", "=F"},
    {"block_multiple_of", "256"},
    {"block_ffn_dim_multiplier", "1"},
};

constexpr Family lfm2 = {
    .name = "lfm2",
    .gguf = "lfm2",
    .classes = "Lfm2ForCausalLM|LFM2ForCausalLM|Lfm2Model|Lfm2BidirectionalModel",
    .model_types = "lfm2",
    .about = "short convolutions in most layers, attention in the others",
    .tied_by_default = true,
    .hf_rope_theta = 1e6,
    .mlx_scales_rope = false,
    .loader_needs = "attention.head_count_kv",
    .keys = {sizes, rope_keys, own, embedding_model},
    .layer_tensors = {layer, dense_everywhere},
    .last_tensors = last_with_dense,
    .layout_signs = {{"conv.conv", Telling::convolution}},
    .fixed = fixed,
    .config = {.fields = "norm_eps", .members = members, .describe = describe},
    .cache = {.windows = {.rule = Windows::Rule::attention}, .recurrence = short_convolutions},
};
MU_FAMILY(lfm2);

constexpr Family lfm2_moe = {
    .name = "lfm2moe",
    .gguf = "lfm2moe",
    .classes = "Lfm2MoeForCausalLM",
    .model_types = "lfm2_moe",
    .about = "short convolutions in most layers, experts after some dense layers",
    .renames = mixtral_renames,
    .tied_by_default = true,
    .hf_rope_theta = 1e6,
    .mlx_scales_rope = false,
    .loader_needs = "attention.head_count_kv|expert_feed_forward_length|expert_gating_func",
    .keys = {sizes, rope_keys, expert_keys, own, mixture, weights},
    .layer_tensors = {layer, dense, experts},
    .last_tensors = last,
    .layout_signs = {{"conv.conv", Telling::convolution}},
    .renormalises_experts = true,
    .fixed = mixture_fixed,
    .config = {.fields = "norm_eps|num_experts|num_dense_layers",
               .members = {{"intermediate_size", "=F"}},
               .describe = describe_mixture},
    .cache = {.recurrence = short_convolutions},
};
MU_FAMILY(lfm2_moe);

}  // namespace modelutils::arch::families::lfm2
