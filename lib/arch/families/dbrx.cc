// DBRX: fused and clipped Wqkv, LayerNorm without bias, experts as one module each or all in one matrix.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::dbrx {

static Status write_nested_theta(KeyWriter& out, const Key& key) {
  return out.real(key.name, out.config().number_field("attn_config.rope_theta").value_or(10000));
}
constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-5", .layer_norm = true});
  named(keys, "feed_forward_length").fields = "ffn_config.ffn_hidden_size";
  named(keys, "attention.head_count_kv").fields = "attn_config.kv_n_heads";
  return keys;
}();
constexpr auto rope = [] {
  auto keys = rope_keys;
  named(keys, "rope.freq_base").fields = "attn_config.rope_theta";
  named(keys, "rope.freq_base").write = write_nested_theta;
  return keys;
}();
constexpr auto mixture = [] {
  auto keys = expert_keys;
  named(keys, "expert_count").fields = "ffn_config.moe_num_experts";
  named(keys, "expert_used_count").fields = "ffn_config.moe_top_k";
  return keys;
}();
constexpr Key clamp[] = {{.name = "attention.clamp_kqv",
                          .type = KeyType::f32,
                          .fields = "attn_config.clip_qkv",
                          .missing = Missing::refuse,
                          .need = Need::required}};
constexpr Tensor first[] = {{"token_embd", "E,V", "transformer.wte"}};
constexpr Tensor last[] = {{"output_norm", "E", "transformer.norm_f"}, {"output", "E,V", "lm_head"}};
// The original checkpoint has the rows of all experts in one matrix. For w2 these rows are the columns of GGUF's
// matrix.
constexpr Tensor layer[] = {
    {"attn_norm", "E", "norm_attn_norm.norm_1"},
    {"attn_qkv", "E,E+2*K*D", "norm_attn_norm.attn.Wqkv"},
    {"attn_output", "E,E", "norm_attn_norm.attn.out_proj"},
    {"attn_output_norm", "E", "norm_attn_norm.norm_2"},
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "ffn.router.layer", .f32 = true},
    {"ffn_gate_exps", "E,F,X", "[hf] ffn.experts.mlp.w1{X F -> X F} | ffn.experts.#.w1"},
    {"ffn_up_exps", "E,F,X", "[hf] ffn.experts.mlp.v1{X F -> X F} | ffn.experts.#.v1"},
    {.name = "ffn_down_exps",
     .ne = "F,E,X",
     .source = "[hf] ffn.experts.mlp.w2{{X F E -> X E F}} | ffn.experts.#.w2",
     .stored = "[hf] X*F,E"},
};

constexpr Family dbrx = {
    .name = "dbrx",
    .gguf = "dbrx",
    .classes = "DbrxForCausalLM",
    .model_types = "dbrx",
    .about = "clipped queries, keys and values in one matrix, LayerNorm without bias",
    .layer_prefixes = "transformer.blocks.",
    .head = OutputHead::always,
    .mlx_scales_rope = false,
    .keys = {sizes, rope, mixture, clamp},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .layout_signs = {{"ffn.experts.0.w1", Telling::name_of_mlx}, {"ffn.experts.mlp.w1", Telling::published_name}},
    .renormalises_experts = true,
    .fixed = {{"ffn_config.moe_normalize_expert_weights", "1", Severity::warning, "llama.cpp makes their sum one"}},
    .relations = {whole_width},
    .config = {.fields = "d_model|n_heads|n_layers|max_seq_len"},
    .tokenizer = {.pre_of_ranks = "dbrx=dbrx"},
};
MU_FAMILY(dbrx);

}  // namespace modelutils::arch::families::dbrx
