// GLM-4.5 to 4.7 and Solar Open: a sigmoid router with a selection bias after some dense layers; part of a head is
// rotated. The text part of GLM-4.5V and 4.6V also has rope sections for images.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/prediction_rows.h"

namespace modelutils::arch::families::glm4_moe {

constexpr auto sizes = decoder_sizes({.context = "131072"});
constexpr Key mixture[] = {expert_width, shared_expert_count, leading_dense, expert_gating("2")};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj", Need::required, Need::optional},
    {"attn_k", "E,K*D", "self_attn.k_proj", Need::required, Need::optional},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::optional},
    {"attn_q_norm", "D", "self_attn.q_norm", Need::optional},
    {"attn_k_norm", "D", "self_attn.k_norm", Need::optional},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"post_attention_norm", "E", "post_attention_layernorm"},
};
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"}, {"use_qk_norm", "@attn_q_norm.weight"},
    {"norm_topk_prob", "true"},         {"routed_scaling_factor", "1"},
    {"topk_method", "noaux_tc"},        {"rope_scaling", "null"},
};

constexpr Family glm4_moe = {
    .name = "glm4moe",
    .gguf = "glm4moe",
    .classes = "Glm4MoeForCausalLM|SolarOpenForCausalLM",
    .model_types = "glm4_moe|solar_open",
    .about = "sigmoid router with a selection bias, dense layers first, part of a head is rotated",
    .mlx_scales_rope = false,
    .loader_needs = "expert_feed_forward_length",
    .keys = {sizes, partial_rope_keys, expert_keys, mixture, expert_weights, expert_groups},
    .layer_tensors = {layer, leading_feed_forward, experts_behind_dense, expert_choice_bias, deepseek_shared_experts},
    .prediction = {.tensors = nextn_tensors, .runs = true},
    .fixed = {rotates_halves},
    .config = {.fields = "n_routed_experts", .members = members},
    .cache = {.prediction = PredictionBlocks::cached, .may_lack_prediction = true},
};
MU_FAMILY(glm4_moe);

constexpr auto sectioned_rope = with_sections(partial_rope_keys_of("D/2"));
constexpr Family glm4v_moe = [] {
  Family family = glm4_moe;
  family.name = "glm4v-moe";
  family.classes = "Glm4vMoeForConditionalGeneration";
  family.model_types = "glm4v_moe|glm4v_moe_text";
  family.about = "the text part: as glm4moe with rope sections";
  family.gguf_key = "rope.dimension_sections";
  family.keys = {sizes, sectioned_rope, expert_keys, mixture, expert_weights, expert_groups};
  family.config.text_model_type = "glm4v_moe_text";
  return family;
}();
MU_FAMILY(glm4v_moe);

}  // namespace modelutils::arch::families::glm4_moe
