// DeepSeek-MoE 16B and the text part of DeepSeek-OCR: Llama's attention, a softmax router without renormalisation,
// shared experts.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::deepseek {

constexpr auto sizes = decoder_sizes({.epsilon = "1e-6"});
constexpr Key mixture[] = {
    expert_width,
    shared_expert_count,
    leading_dense,
    expert_gating("1"),
    {.name = "expert_weights_scale", .type = KeyType::f32, .fallback = "1", .missing = Missing::assume, .when = "X"},
};
constexpr Tensor pairs[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj{H t:2 j:D/2 -> H j t}", Need::required, Need::optional},
    {"attn_k", "E,K*D", "self_attn.k_proj{K t:2 j:D/2 -> K j t}", Need::required, Need::optional},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::optional},
};
constexpr auto experts = routed_experts(expert_layers);
constexpr auto shared = [] {
  auto rows = deepseek_shared_experts;
  for (Tensor& row : rows) row.when = expert_layers;  // required by the loader
  return rows;
}();
constexpr Fixed fixed[] = {
    {"moe_layer_freq", "1", Severity::error, "llama.cpp has experts in every layer after the dense ones"},
    {"scoring_func", "softmax", Severity::error, "llama.cpp supports no other value for this architecture"},
    leaves_weights,
};

constexpr Family deepseek = {
    .name = "deepseek",
    .gguf = "deepseek",
    .classes = "DeepseekForCausalLM",
    .model_types = "deepseek",
    .about = "softmax router without renormalisation, shared experts, dense layers first",
    .head = OutputHead::always,
    .class_has_defaults = true,
    .loader_needs = "expert_feed_forward_length",
    .loads_without = "output",
    .keys = {sizes, said_rope_keys, expert_keys, mixture},
    .layer_tensors = {pairs, attention_output, leading_feed_forward, experts, shared},
    .fixed = fixed,
    .config = {.fields = "n_routed_experts", .members = {{"attention_bias", "@attn_q.bias"}}},
};
MU_FAMILY(deepseek);

// DeepSeek-OCR states the class of DeepSeek V2 for its text part, but has no latent attention.
static bool has_plain_attention(const hf::Config& config) {
  return !config.bool_field("use_mla").value_or(config.architecture != "DeepseekOCRForCausalLM");
}

constexpr Family deepseek_ocr = {
    .name = "deepseek-ocr",
    .gguf = "deepseek2-ocr",
    .classes = "DeepseekOCRForCausalLM|DeepseekV2ForCausalLM",
    .model_types = "deepseekocr",
    .about = "the text part: as deepseek, without pairs",
    .fits = has_plain_attention,
    .class_has_defaults = true,
    .loader_needs = "expert_feed_forward_length|expert_shared_count",
    .keys = {sizes, said_rope_keys, expert_keys, mixture},
    .layer_tensors = {arch::attention, attention_output, leading_feed_forward, experts, shared},
    .fixed = fixed,
    .relations = {whole_width,
                  {"H", "K", "num_key_value_heads",
                   "differs from the number of heads, which llama.cpp takes "
                   "for granted"}},
    .config = {.fields = "n_routed_experts", .members = {{"use_mla", "false"}}},
};
MU_FAMILY(deepseek_ocr);

}  // namespace modelutils::arch::families::deepseek
