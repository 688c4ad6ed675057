// Cohere's Command R and R7B: one LayerNorm without bias before attention and feed-forward, which run in parallel;
// scaled logits; the embedding as the head. In Cohere 2, three of four layers slide and the fourth has no rotary
// embedding.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::cohere {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "8192", .epsilon = "1e-5", .layer_norm = true});
  named(keys, "context_length").fields =
      "model_max_length|max_position_embeddings";  // the first is the context after fine-tuning
  return keys;
}();
constexpr Key logit_scale[] = {
    {.name = "logit_scale",
     .type = KeyType::f32,
     .fields = "logit_scale",
     .fallback = "0.0625",
     .missing = Missing::note,
     .need = Need::required},
};
constexpr Key windows[] = {
    sliding_window("4096", Missing::warn, Need::required),
    window_pattern<4>,
};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},        {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},      {"attn_v", "E,K*D", "self_attn.v_proj"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
};
constexpr Tensor norms_of_heads[] = {
    {.name = "attn_q_norm", .ne = "D,H", .source = "self_attn.q_norm", .when = "L>=64", .f32 = true},
    {.name = "attn_k_norm", .ne = "D,K", .source = "self_attn.k_norm", .when = "L>=64", .f32 = true},
};
constexpr Fixed fixed[] = {
    {"attention_bias", "false", Severity::error, "llama.cpp has no biases in the attention of this architecture"},
    {"use_qk_norm", "false", Severity::error, "llama.cpp has norms of queries and keys only from 64 layers on", "L<64"},
    {"use_qk_norm", "true", Severity::error, "llama.cpp requires norms of queries and keys from 64 layers on", "L>=64"},
};
constexpr Fixed fixed2[] = {
    named(fixed, "attention_bias"),
    {"use_qk_norm", "false", Severity::error, "llama.cpp has no norms of queries and keys in this architecture"},
};

constexpr Family cohere = {
    .name = "cohere",
    .gguf = "command-r",
    .classes = "CohereForCausalLM",
    .model_types = "cohere",
    .about = "attention and feed-forward side by side, LayerNorm without bias, scaled logits",
    .head = OutputHead::never,
    .tied_by_default = true,
    .hf_rope_theta = 10000,
    .mlx_rope_theta = 8e6,
    .mlx_scales_rope = false,
    .loads_without = "logit_scale",
    .keys = {sizes, rope_keys, logit_scale},
    .layer_tensors = {layer, norms_of_heads, gated_feed_forward},
    .fixed = fixed,
    .relations = {whole_width},
    .config = {.fields = "max_position_embeddings", .members = {{"layer_norm_bias", "false"}}},
    .tokenizer = {.pre = "command-r"},
};
MU_FAMILY(cohere);

constexpr Family cohere2 = {
    .name = "cohere2",
    .gguf = "cohere2",
    .classes = "Cohere2ForCausalLM",
    .model_types = "cohere2",
    .about = "like cohere; sliding layers with rotary embedding, every fourth layer global and without",
    .head = OutputHead::never,
    .tied_by_default = true,
    .hf_rope_theta = 10000,
    .mlx_rope_theta = 50000,
    .mlx_scales_rope = false,
    .keys = {sizes, rope_keys, logit_scale, windows},
    .layer_tensors = {layer, gated_feed_forward},
    .fixed = fixed2,
    .relations = {whole_width},
    .config = {.fields = "max_position_embeddings|sliding_window_pattern", .members = {{"layer_norm_bias", "false"}}},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 4, .always = true}},
    .tokenizer = {.pre = "command-r"},
};
MU_FAMILY(cohere2);

}  // namespace modelutils::arch::families::cohere
