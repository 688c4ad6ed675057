// Hunyuan V3: dense layers first, then experts scored by a sigmoid with a bias for the choice, and a shared expert.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/prediction_rows.h"

namespace modelutils::arch::families::hy_v3 {

constexpr auto sizes = decoder_sizes({.context = "4096"});
constexpr auto weights = [] {
  auto keys = weights_of_experts("1", "true");
  named(keys, "expert_weights_scale").fields = "router_scaling_factor";
  return keys;
}();
constexpr Key mixture[] = {
    {.name = "expert_feed_forward_length",
     .fields = "moe_intermediate_size|expert_hidden_dim",
     .symbol = "Fx",
     .need = Need::required,
     .when = "X"},
    {.name = "expert_shared_feed_forward_length", .symbol = "Fs", .when = "X", .loader_default = "Fx"},
    expert_gating("2"),
};
// The loader has no count of dense layers: those without a router are dense.
constexpr Mark marks[] = {{"M", "ffn_gate_inp"}};
constexpr auto dense = feed_forward_of("!M");
constexpr auto experts = [] {
  auto rows = routed_experts("M");
  named(rows, "ffn_gate_inp").source = "mlp.router.gate";
  named(rows, "ffn_gate_inp").need = Need::optional;
  named(rows, "ffn_gate_inp").when = {};
  return rows;
}();
constexpr Tensor beside_experts[] = {
    {.name = "@exp_probs_b", .ne = "X", .source = "mlp.expert_bias", .need = Need::optional, .when = "M"},
    {.name = "ffn_gate_shexp", .ne = "E,Fs", .source = "mlp.shared_mlp.gate_proj", .when = "M"},
    {.name = "ffn_up_shexp", .ne = "E,Fs", .source = "mlp.shared_mlp.up_proj", .when = "M"},
    {.name = "ffn_down_shexp", .ne = "Fs,E", .source = "mlp.shared_mlp.down_proj", .when = "M"},
};
constexpr auto block = [] {
  auto rows = nextn_tensors;
  named(rows, "nextn.shared_head_norm").source = "final_layernorm | shared_head.norm";
  return rows;
}();
constexpr Fixed fixed[] = {
    rotates_halves,
    {"qk_norm", "true", Severity::error, "llama.cpp normalises queries and keys"},
};
static Status describe(ConfigWriter& out) {
  const std::vector<u64>& has_experts = out.sizes().values("M");
  u64 dense_layers = 0;
  while (dense_layers < has_experts.size() && has_experts[static_cast<std::size_t>(dense_layers)] == 0) ++dense_layers;
  for (u64 i = dense_layers; i < has_experts.size(); ++i) {
    if (has_experts[static_cast<std::size_t>(i)] == 0) {
      return out.refuse("expert_count", "has a dense layer behind one with experts, which config.json cannot state");
    }
  }
  out.set("first_k_dense_replace", dense_layers);
  const u64 width = out.size("Fx");
  if (width == 0 || out.size("Fs") % width != 0) {
    return out.refuse("expert_shared_feed_forward_length", "is no multiple of the width of an expert");
  }
  out.set("num_shared_experts", out.size("Fs") / width);
  return {};
}

constexpr Family hy_v3 = {
    .name = "hy_v3",
    .gguf = "hy_v3",
    .classes = "HYV3ForCausalLM",
    .model_types = "hy_v3",
    .about = "dense layers, then experts scored by a sigmoid with a bias for the choice, and a shared one",
    .keys = {sizes, rope_keys, expert_keys, mixture, weights},
    .layer_tensors = {attention_maybe_with_biases, qk_norms, attention_output, dense, experts, beside_experts},
    .prediction = {.tensors = block, .runs = true},
    .marks = marks,
    .fixed = fixed,
    .config = {.fields = "num_experts|route_norm|router_scaling_factor",
               .members = {{"moe_router_enable_expert_bias", "@exp_probs_b"}},
               .describe = describe},
    .cache = {.prediction = PredictionBlocks::uncached, .may_lack_prediction = true},
};
MU_FAMILY(hy_v3);

}  // namespace modelutils::arch::families::hy_v3
