// CogVLM: every layer has two experts, one for tokens of text and one for those of images. Each has its own attention
// matrices (queries, keys and values in one) and its own feed-forward part; norms and cache are shared.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::cogvlm {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "2048"});
  named(keys, "attention.head_count_kv").fields = "num_key_value_heads|num_multi_query_heads";
  return keys;
}();
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_qkv", "E,3*H*D", "self_attn.language_expert_query_key_value"},
    {"attn_output", "H*D,E", "self_attn.language_expert_dense"},
    {"vis_attn_qkv", "E,3*H*D", "self_attn.vision_expert_query_key_value"},
    {"vis_attn_output", "H*D,E", "self_attn.vision_expert_dense"},
    {"ffn_norm", "E", "post_attention_layernorm"},
    {"ffn_gate", "E,F", "mlp.language_mlp.gate_proj"},
    {"ffn_up", "E,F", "mlp.language_mlp.up_proj"},
    {"ffn_down", "F,E", "mlp.language_mlp.down_proj"},
    {"vis_gate", "E,F", "mlp.vision_mlp.gate_proj"},
    {"vis_up", "E,F", "mlp.vision_mlp.up_proj"},
    {"vis_down", "F,E", "mlp.vision_mlp.down_proj"},
};
constexpr Relation relations[] = {
    whole_width,
    {"K", "H", "num_multi_query_heads",
     "is not the number of heads, as in CogVLM2; llama.cpp computes CogVLM 1, where every head has its own keys and "
     "values"},
};

constexpr Family cogvlm = {
    .name = "cogvlm",
    .gguf = "cogvlm",
    .classes = "CogVLMForCausalLM",
    .model_types = "cogvlm",
    .about = "A second expert in each layer for tokens of images; Q, K and V in one matrix",
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer},
    .first_tensors = embedding_and_llama3,
    .fixed = {rotates_halves},
    .relations = relations,
    .config = {.fields = "num_key_value_heads"},
};
MU_FAMILY(cogvlm);

}  // namespace modelutils::arch::families::cogvlm
