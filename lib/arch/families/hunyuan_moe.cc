// Hunyuan A13B: norms of queries and keys after the rotation, a shared expert, a rope base stretched by alpha.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::hunyuan_moe {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "32768"});
  named(keys, "feed_forward_length").fields = {};  // an expert's width; intermediate_size may differ from it
  return keys;
}();
constexpr Key mixture[] = {
    {.name = "expert_feed_forward_length", .fields = "moe_intermediate_size", .symbol = "F", .need = Need::required},
    {.name = "expert_shared_count", .fields = "num_shared_expert"},
    {.name = "expert_shared_feed_forward_length", .symbol = "Fs", .loader_default = "F"},
};
// Hunyuan-Large has the queries, keys and values of each group in one matrix, and the shared expert's up and gate.
constexpr auto attention = [] {
  auto rows = attention_maybe_with_biases;
  named(rows, "attn_q").source = "self_attn.q_proj | self_attn.qkv_proj{K n:H/K+2 D -> K n[0:H/K] D}";
  named(rows, "attn_k").source = "self_attn.k_proj | self_attn.qkv_proj{K n:H/K+2 D -> K n=H/K D}";
  named(rows, "attn_v").source = "self_attn.v_proj | self_attn.qkv_proj{K n:H/K+2 D -> K n=H/K+1 D}";
  return rows;
}();
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "mlp.gate.wg", .f32 = true},
    {"ffn_gate_exps", "E,F,X",
     "mlp.switch_mlp.gate_proj | mlp.experts.#.gate_proj | "
     "mlp.experts.#.gate_and_up_proj{t:2 F -> t=1 F}"},
    {"ffn_up_exps", "E,F,X",
     "mlp.switch_mlp.up_proj | mlp.experts.#.up_proj | "
     "mlp.experts.#.gate_and_up_proj{t:2 F -> t=0 F}"},
    {"ffn_down_exps", "F,E,X", "mlp.switch_mlp.down_proj | mlp.experts.#.down_proj"},
    {"ffn_gate_shexp", "E,Fs", "mlp.shared_mlp.gate_proj | mlp.shared_mlp.gate_and_up_proj{t:2 Fs -> t=1 Fs}"},
    {"ffn_up_shexp", "E,Fs", "mlp.shared_mlp.up_proj | mlp.shared_mlp.gate_and_up_proj{t:2 Fs -> t=0 Fs}"},
    {"ffn_down_shexp", "Fs,E", "mlp.shared_mlp.down_proj"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"use_cla", "false", Severity::error, "llama.cpp has keys and values of its own in every layer"},
    {"use_qk_norm", "true", Severity::error, "llama.cpp normalises queries and keys"},
    {"use_mixed_mlp_moe", "true", Severity::error, "llama.cpp requires a shared expert"},
};
static Status warn_of_weights(KeyWriter& out) {
  const u64 used = out.size(symbol::experts_used);
  if (out.is_mlx() && used < out.size(symbol::experts)) {
    out.warn("moe_topk",
             "is less than the number of experts: llama.cpp normalises their weights to sum 1, mlx-lm does not");
  }
  return {};
}
constexpr Member members[] = {
    {"intermediate_size", "=F"},
    {"attention_bias", "@attn_q.bias"},
    {"cla_share_factor", "2"},
    // mlx-lm's class requires these. The base is already stretched, so alpha is 1.
    {"norm_topk_prob", "true"},
    {"rope_scaling.type", "dynamic"},
    {"rope_scaling.alpha", "1"},
    {"rope_scaling.factor", "1"},
};

constexpr Family hunyuan_moe = {
    .name = "hunyuan-moe",
    .gguf = "hunyuan-moe",
    .classes = "HunYuanMoEV1ForCausalLM|HunYuanForCausalLM",
    .model_types = "hunyuan|hunyuan_v1_moe",
    .about = "norms of queries and keys after the rotation, a shared expert, the rope base stretched by alpha",
    .tied_by_default = true,
    .loader_needs = "feed_forward_length",
    .keys = {sizes, stretched_rope_keys, expert_keys, mixture},
    .layer_tensors = {attention, hunyuan_qk_norms, attention_output, experts},
    .renormalises_experts = true,
    .fixed = fixed,
    .checks = {warn_of_weights},
    .config = {.fields = "num_experts|moe_topk", .members = members},
    .tokenizer = {.pre_of_ranks = "hunyuan=hunyuan"},
};
MU_FAMILY(hunyuan_moe);

}  // namespace modelutils::arch::families::hunyuan_moe
