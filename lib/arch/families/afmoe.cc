// Trinity: gated attention, sliding layers with rope and global layers without, four norms, a scaled embedding.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::afmoe {

constexpr auto sizes = decoder_sizes({.context = "131072", .epsilon = "1e-5", .head_dim = "64"});
constexpr Key own[] = {
    expert_width, shared_expert_count, leading_dense, expert_gating("2"), sliding_window("2048", Missing::assume),
};
constexpr Tensor gate_and_norms[] = {
    {"attn_gate", "E,H*D", "self_attn.gate_proj"},
    named(qk_norms, "attn_q_norm"),
    named(qk_norms, "attn_k_norm"),
};
constexpr Tensor other_norms[] = {
    {"ffn_norm", "E", "pre_mlp_layernorm"},
    {"post_ffw_norm", "E", "post_mlp_layernorm"},
};
constexpr auto experts = [] {
  auto rows = plainly_named_experts(expert_layers);
  named(rows, "ffn_gate_inp").source = "mlp.router.gate";
  return rows;
}();
constexpr auto choice = choice_bias("mlp.expert_bias");
constexpr auto weights = weights_of_experts("2.826", "true");
constexpr Fixed fixed[] = {
    rotates_halves,
    {"mup_enabled", "true", Severity::error, "llama.cpp multiplies the embedding by the square root of its width"},
    {"global_attn_every_n_layers", "4", Severity::error, "llama.cpp makes every fourth layer global"},
};
static Status describe(ConfigWriter& out) {
  MU_ASSIGN(const std::vector<bool> slides, sliding_layers(out));
  out.set("layer_types", layer_types(slides));
  return {};
}

constexpr Family afmoe = {
    .name = "afmoe",
    .gguf = "afmoe",
    .classes = "AfmoeForCausalLM",
    .model_types = "afmoe",
    .about = "gated attention, sliding layers with rope and global ones without, four norms, scaled embedding",
    .class_has_defaults = true,
    .loader_needs = "expert_feed_forward_length",
    .keys = {sizes, rope_keys, expert_keys, own, weights, expert_groups},
    .layer_tensors = {attention, gate_and_norms, attention_output_and_post_norm, other_norms, leading_feed_forward,
                      experts, choice, deepseek_shared_experts},
    .unrotated_every = 4,
    .fixed = fixed,
    .checks = {check_period<4>},
    .config = {.fields =
                   "num_experts|num_shared_experts|num_dense_layers|route_norm|route_scale|score_func|layer_types",
               .describe = describe},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 4, .is_required = true}},
};
MU_FAMILY(afmoe);

}  // namespace modelutils::arch::families::afmoe
