// Trinity: attention with a gate, sliding layers with rope and global ones without, four norms, a scaled embedding.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/sliding_windows.h"

namespace modelutils::arch::families::afmoe {

namespace {

constexpr auto sizes = decoder_sizes({.context = "131072", .epsilon = "1e-5", .head_dim = "64"});
constexpr Key own[] = {
    expert_width,
    shared_expert_count,
    leading_dense,
    expert_gating("2"),
    {.name = "attention.sliding_window", .fields = "sliding_window", .fallback = "2048", .missing = Missing::assume},
};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},
    {"attn_v", "E,K*D", "self_attn.v_proj"},
    {"attn_gate", "E,H*D", "self_attn.gate_proj"},
    {"attn_q_norm", "D", "self_attn.q_norm"},
    {"attn_k_norm", "D", "self_attn.k_norm"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"post_attention_norm", "E", "post_attention_layernorm"},
    {"ffn_norm", "E", "pre_mlp_layernorm"},
    {"post_ffw_norm", "E", "post_mlp_layernorm"},
};
constexpr auto experts = [] {
  auto rows = plainly_named_experts(expert_layers);
  rows[0].source = "mlp.router.gate";
  return rows;
}();
constexpr Tensor choice[] = {
    {.name = "@exp_probs_b.bias", .ne = "X", .source = "mlp.expert_bias", .when = expert_layers}};
constexpr auto weights = weights_of_experts("2.826", "true");
constexpr Fixed fixed[] = {
    rotates_halves,
    {"mup_enabled", "true", Severity::error, "llama.cpp multiplies the embedding with the root of its width"},
    {"global_attn_every_n_layers", "4", Severity::error, "llama.cpp makes every fourth layer global"},
};
Status check_windows(KeyWriter& out) {
  return check_window_order(out, 4);
}
constexpr Check checks[] = {check_windows};
Status describe(ConfigWriter& out) {
  MU_ASSIGN(const std::vector<bool> slides, sliding_layers(out));
  out.set("layer_types", layer_types(slides));
  return {};
}

}  // namespace

const Family afmoe = {
    .name = "afmoe",
    .gguf = "afmoe",
    .classes = "AfmoeForCausalLM",
    .model_types = "afmoe",
    .about = "gated attention, sliding layers with rope and global ones without, four norms, scaled embedding",
    .class_has_defaults = true,
    .keys = {sizes, rope_keys, expert_keys, own, weights, expert_groups},
    .layer_tensors = {layer, leading_feed_forward, experts, choice, deepseek_shared_experts},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
    .checks = checks,
    .config = {.fields =
                   "num_experts|num_shared_experts|num_dense_layers|route_norm|route_scale|score_func|layer_types",
               .describe = describe},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 4}},
};

}  // namespace modelutils::arch::families::afmoe
