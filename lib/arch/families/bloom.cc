// BLOOM: ALiBi instead of rotary embeddings, a norm after the embedding, LayerNorm and biases everywhere. Each head's
// queries, keys and values are together in one matrix.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::bloom {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-5", .layer_norm = true});
  named(keys, "context_length") = {.name = "context_length",
                                   .fields = "seq_length|max_position_embeddings|n_positions",
                                   .fallback = "2048",
                                   .missing = Missing::warn,
                                   .need = Need::required};
  named(keys, "embedding_length").fields = "hidden_size|n_embed|n_embd";
  named(keys, "feed_forward_length").fallback = "4*E";
  named(keys, "attention.head_count").fields = "n_head|num_attention_heads";
  named(keys, "attention.head_count_kv").fields = {};  // every head has its own keys and values
  return keys;
}();
constexpr Need must = Need::required;
constexpr Tensor first[] = {
    {"token_embd", "E,V", "transformer.word_embeddings | word_embeddings"},
    {"token_embd_norm", "E", "transformer.word_embeddings_layernorm | word_embeddings_layernorm", must, must},
};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm", must, must},
    {"attn_qkv", "E,3*H*D", "self_attention.query_key_value{H t:3 D -> t H D}", must, must},
    {"attn_output", "H*D,E", "self_attention.dense", must, must},
    {"ffn_norm", "E", "post_attention_layernorm", must, must},
    {"ffn_up", "E,F", "mlp.dense_h_to_4h", must, must},
    {"ffn_down", "F,E", "mlp.dense_4h_to_h", must, must},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "transformer.ln_f | ln_f", must, must},
    {"output", "E,V", "lm_head"},
};

constexpr Family bloom = {
    .name = "bloom",
    .gguf = "bloom",
    .classes = "BloomForCausalLM|BloomModel",
    .model_types = "bloom",
    .about = "ALiBi, a norm behind the embedding; Q, K and V are one matrix, interleaved by heads",
    .layer_prefixes = "transformer.h.|h.",
    .activation = "gelu",
    .activation_names = "gelu|gelu_new|gelu_pytorch_tanh",
    .tied_by_default = true,
    .class_has_defaults = true,
    .keys = {sizes},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = {{"apply_residual_connection_post_layernorm", "false", Severity::error,
               "llama.cpp adds what precedes the norm"}},
    .relations = {whole_width, {"K", "H", {}, "every head has its own keys and values"}},
    .config = {.fields = "n_layer|n_head|layer_norm_epsilon",
               .members = {{"apply_residual_connection_post_layernorm", "false"}}},
};
MU_FAMILY(bloom);

}  // namespace modelutils::arch::families::bloom
