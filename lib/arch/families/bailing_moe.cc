// Ling: fused query_key_value. In GGUFs version 1 rotates adjacent pairs. Version 2 has a grouped sigmoid router.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/prediction_rows.h"

namespace modelutils::arch::families::bailing_moe {

constexpr auto sizes = decoder_sizes({.context = "16384"});
// Not a GGUF key: mlx-lm normalises the head's columns when it saves the model; other directories have the trained
// head.
static std::optional<u64> norm_head(const hf::Config& config, const Sizes&) {
  return config.bool_field("norm_head").value_or(false) ? 1 : 0;
}
constexpr Key normalises_head = {.name = "norm_head", .symbol = "Nh", .when = "0", .derive = norm_head};
constexpr Key mixture[] = {expert_width, shared_expert_count, leading_dense, normalises_head};
constexpr Key mixture_v2[] = {
    expert_width,
    shared_expert_count,
    leading_dense,
    {.name = "expert_shared_feed_forward_length",
     .fields = "moe_shared_expert_intermediate_size",
     .symbol = "Fs",
     .fallback = "Fx",
     .when = "X",
     .loader_default = "Fx"},
    expert_gating("1"),
    normalises_head,
};
constexpr Tensor first[] = {{"token_embd", "E,V", "model.word_embeddings"}};
constexpr Tensor last[] = {
    named(norm_and_head, "output_norm"),
    {"output", "E,V", "[hf & Nh] lm_head@unit_columns | lm_head"},
};
constexpr Tensor pairs[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "attention.query_key_value{n:H+2*K t:2 j:D/2 -> n[0:H] j t}", Need::required, Need::optional},
    {"attn_k", "E,K*D", "attention.query_key_value{n:H+2*K t:2 j:D/2 -> n[H:H+K] j t}", Need::required, Need::optional},
    {"attn_v", "E,K*D", "attention.query_key_value{n:H+2*K D -> n[H+K:H+2*K] D}", Need::required, Need::optional},
    {"attn_output", "H*D,E", "attention.dense"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
constexpr Tensor attention_v2[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_qkv", "E,H*D+2*K*D", "attention.query_key_value"},
    {"attn_q_norm", "D", "attention.query_layernorm"},
    {"attn_k_norm", "D", "attention.key_layernorm"},
    {"attn_output", "H*D,E", "attention.dense"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
constexpr auto experts = [] {
  auto rows = routed_experts(expert_layers);
  named(rows, "ffn_gate_inp").source = "[hf] mlp.gate | mlp.gate.gate_proj | mlp.gate";
  return rows;
}();
constexpr auto choice = choice_bias("mlp.gate.expert_bias", Need::optional);
constexpr auto shared_v2 = [] {
  auto rows = deepseek_shared_experts;
  named(rows, "ffn_gate_shexp").ne = named(rows, "ffn_up_shexp").ne = "E,Fs*Ns";
  named(rows, "ffn_down_shexp").ne = "Fs*Ns,E";
  return rows;
}();
constexpr auto weights = weights_of_experts("1");
constexpr Fixed fixed[] = {
    rotates_halves,
    {"first_k_dense_replace", "0", Severity::error, "for this architecture llama.cpp requires experts in every layer"},
    {"score_function", "softmax", Severity::error, "llama.cpp supports no other value for this architecture"},
    {"use_qk_norm", "false", Severity::error, "for this architecture llama.cpp has no norms of queries and keys"},
    {"moe_router_enable_expert_bias", "false", Severity::error, "for this architecture llama.cpp has no such bias"},
    {"n_group", "1", Severity::error, "for this architecture llama.cpp chooses among all experts"},
};
constexpr Fixed fixed_v2[] = {
    rotates_halves,
    {"use_qk_norm", "true", Severity::error, "for this architecture llama.cpp normalises queries and keys"},
};
static Status check_head(KeyWriter& out) {
  if (out.is_mlx() || out.size("Nh") == 0 || out.size("head") != 0) return {};
  return out.refuse("norm_head", "is true, but the output head is the embedding, which must not be normalised");
}
constexpr Member members[] = {
    {"use_bias", "false"}, {"use_qkv_bias", "@attn_q.bias"}, {"norm_head", "false"}, {"norm_softmax", "false"},
    {"topk_group", "1"},
};
constexpr Tensor block[] = {
    named(nextn_tensors, "nextn.eh_proj"),
    named(nextn_tensors, "nextn.enorm"),
    named(nextn_tensors, "nextn.hnorm"),
    named(nextn_tensors, "nextn.embed_tokens"),
    named(nextn_tensors, "nextn.shared_head_head"),
    {"layer_output_norm", "E", "final_layernorm"},
};
constexpr Member members_v2[] = {
    {"use_bias", "false"},
    {"use_qkv_bias", "@attn_qkv.bias"},
    {"norm_head", "false"},
    {"norm_softmax", "false"},
    {"moe_router_enable_expert_bias", "@exp_probs_b.bias"},
};

constexpr Family bailing_moe = {
    .name = "bailingmoe",
    .gguf = "bailingmoe",
    .classes = "BailingMoeForCausalLM",
    .model_types = "bailing_moe",
    .about = "one matrix for queries, keys and values, shared experts in one matrix",
    .head = OutputHead::always,
    .loader_needs = "expert_feed_forward_length",
    .keys = {sizes, rope_keys, expert_keys, mixture, weights},
    .layer_tensors = {pairs, experts, deepseek_shared_experts},
    .first_tensors = first,
    .last_tensors = last,
    .layout_signs = {{"mlp.gate.gate_proj", Telling::name_of_mlx}, {"mlp.gate", Telling::published_name}},
    .fixed = fixed,
    .checks = {check_head},
    .config = {.fields = "num_experts|num_shared_experts", .members = members},
};
MU_FAMILY(bailing_moe);

constexpr Family bailing_moe_v2 = {
    .name = "bailingmoe2",
    .gguf = "bailingmoe2",
    .classes = "BailingMoeV2ForCausalLM",
    .model_types = "bailing_moe_v2",
    .about = "grouped sigmoid router with a selection bias, norms of queries and keys, a part of a head rotated",
    .head = OutputHead::always,
    .loader_needs = "expert_feed_forward_length|expert_gating_func",
    .keys = {sizes, partial_rope_keys, expert_keys, mixture_v2, weights, expert_groups},
    .layer_tensors = {attention_v2, leading_feed_forward, experts, choice, shared_v2},
    .first_tensors = first,
    .last_tensors = last,
    .prediction = {.tensors = block},
    .layout_signs = {{"mlp.gate.gate_proj", Telling::name_of_mlx}, {"mlp.gate", Telling::published_name}},
    .fixed = fixed_v2,
    .relations = {whole_width},
    .checks = {check_head},
    .config = {.fields = "num_experts|num_shared_experts|score_function",
               .members = members_v2,
               .model_type = "bailing_moe"},
    .cache = {.prediction = PredictionBlocks::cached},
};
MU_FAMILY(bailing_moe_v2);

}  // namespace modelutils::arch::families::bailing_moe
