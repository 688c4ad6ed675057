// OLMo 1: norms without weights. The first form (hf_olmo, mlx-lm's) has queries, keys and values in one matrix, and up
// and gate in another; the second form has llama's names.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::olmo {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "2048", .epsilon = "1e-5", .layer_norm = true});
  named(keys, "feed_forward_length").fields = {};  // in the first form it counts up and gate together
  named(keys, "vocab_size").fields = "embedding_size|vocab_size";
  return keys;
}();
constexpr Key clamp[] = {{.name = "attention.clamp_kqv", .type = KeyType::f32, .fields = "clip_qkv"}};
constexpr Tensor first[] = {{"token_embd", "E,V", "model.transformer.wte | model.embed_tokens"}};
constexpr Tensor layer[] = {
    {"attn_q", "E,H*D",
     "[traditional] att_proj{s:3 r:H*D -> s=0 r} | att_proj{s:3 H t:2 j:D/2 -> s=0 H j t} | "
     "self_attn.q_proj{H t:2 j:D/2 -> H j t}"},
    {"attn_k", "E,K*D",
     "[traditional] att_proj{s:3 r:H*D -> s=1 r} | att_proj{s:3 H t:2 j:D/2 -> s=1 H j t} | "
     "self_attn.k_proj{K t:2 j:D/2 -> K j t}"},
    {"attn_v", "E,K*D", "att_proj{s:3 r:H*D -> s=2 r} | self_attn.v_proj"},
    {"attn_output", "H*D,E", "attn_out | self_attn.o_proj"},
    {"ffn_gate", "E,F", "ff_proj{t:2 F -> t=1 F} | mlp.gate_proj"},
    {"ffn_up", "E,F", "ff_proj{t:2 F -> t=0 F} | mlp.up_proj"},
    {"ffn_down", "F,E", "ff_out | mlp.down_proj"},
};
constexpr Tensor ends[] = {{"output", "E,V", "model.transformer.ff_out | lm_head"}};
constexpr Fixed fixed[] = {
    {"layer_norm_type", "default|low_precision", Severity::error, "llama.cpp has LayerNorm"},
    {"layer_norm_with_affine", "false", Severity::error, "llama.cpp's norms have no weights"},
    {"attention_layer_norm", "false", Severity::error, "llama.cpp has no norms of queries and keys"},
    {"include_bias", "false", Severity::error, "llama.cpp accepts no biases"},
    {"multi_query_attention", "false", Severity::error,
     "the rows of the fused matrix are assumed to be three equal parts"},
    {"block_type", "sequential", Severity::error, "llama.cpp computes attention before the feed-forward part"},
    {"activation_type", "swiglu", Severity::error, "llama.cpp computes SwiGLU"},
    {"rope", "true", Severity::error, "llama.cpp rotates queries and keys"},
    {"clip_qkv", "", Severity::warning, "mlx-lm does not clip queries, keys and values; llama.cpp does", "mlx"},
};
constexpr Member members[] = {
    {"mlp_hidden_size", "=2*F"},
    {"vocab_size", "=V"},
    {"mlp_ratio", "=2*F/E"},
};

constexpr Family olmo = {
    .name = "olmo",
    .gguf = "olmo",
    .classes = "OLMoForCausalLM|OlmoForCausalLM",
    .model_types = "olmo|hf_olmo",
    .about = "norms without weights; both published forms",
    .layer_prefixes = "model.transformer.blocks.|model.layers.",
    .mlx_scales_rope = false,
    .keys = {sizes, rope_keys, clamp},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = ends,
    .fixed = fixed,
    .relations = {whole_width},
    .config = {.fields = "d_model|n_layers|n_heads|max_sequence_length|embedding_size|weight_tying|layer_norm_eps",
               .members = members},
};
MU_FAMILY(olmo);

}  // namespace modelutils::arch::families::olmo
