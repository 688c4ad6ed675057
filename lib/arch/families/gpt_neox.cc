// GPT-NeoX and Pythia: LayerNorm and biases everywhere, Q, K and V in one matrix head by head, partial rotation.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::gpt_neox {

// Returns the number of rotated elements of a head: rotary_pct, or partial_rotary_factor in newer files; a quarter
// without both.
static std::optional<u64> rotated_part(const hf::Config& config, const Sizes& sizes) {
  const double stated = config.partial_rotary_factor.value_or(0.25);
  const double part = config.number_field("rotary_pct").value_or(stated);
  return part > 0 && part <= 1 ? std::optional(static_cast<u64>(part * static_cast<double>(sizes.get("D"))))
                               : std::nullopt;
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-5", .layer_norm = true});
  named(keys, "feed_forward_length").fallback = "4*E";
  named(keys, "attention.head_count_kv").fields = {};  // every head has its own keys and values
  return keys;
}();
constexpr auto rope = rope_keys_turning(rotated_part);
constexpr Key own[] = {
    {.name = "use_parallel_residual",
     .type = KeyType::flag,
     .fields = "use_parallel_residual",
     .fallback = "true",
     .missing = Missing::assume,
     .need = Need::required},
};
constexpr Tensor first[] = {{"token_embd", "E,V", "gpt_neox.embed_in"}};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm", Need::required, Need::required},
    {"attn_qkv", "E,3*H*D", "attention.query_key_value{H t:3 D -> t H D}", Need::required, Need::required},
    {"attn_output", "H*D,E", "attention.dense", Need::required, Need::required},
    {"ffn_norm", "E", "post_attention_layernorm", Need::required, Need::required},
    {"ffn_up", "E,F", "mlp.dense_h_to_4h", Need::required, Need::required},
    {"ffn_down", "F,E", "mlp.dense_4h_to_h", Need::required, Need::required},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "gpt_neox.final_layer_norm", Need::required, Need::required},
    {"output", "E,V", "embed_out"},
};

constexpr Family gpt_neox = {
    .name = "gpt_neox",
    .gguf = "gptneox",
    .classes = "GPTNeoXForCausalLM",
    .model_types = "gpt_neox",
    .about = "Attention and feed-forward part side by side; Q, K and V are one matrix, interleaved by heads.",
    .layer_prefixes = "model.h.|gpt_neox.layers.",
    .hf_layer_prefix = "gpt_neox.layers.",
    .renames = "gpt_neox.=model.|embed_out=model.embed_out",
    .activation = "gelu_new",
    .activation_names = "gelu|gelu_new|gelu_pytorch_tanh|gelu_fast",
    .head = OutputHead::always,
    .class_has_defaults = true,
    .mlx_scales_rope = false,
    .keys = {sizes, rope, own},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = {{"attention_bias", "true", Severity::error, "for this architecture llama.cpp needs the biases"}},
    .relations = {whole_width, {"K", "H", {}, "every head has its own keys and values"}},
    .config = {.fields = "rotary_pct|rotary_emb_base", .members = {{"hidden_act", "gelu"}}},
    .tokenizer = {.composes = true, .composes_not = "llama-bpe"},
};
MU_FAMILY(gpt_neox);

}  // namespace modelutils::arch::families::gpt_neox
