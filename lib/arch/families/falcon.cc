// Falcon (7B, 40B, 180B and Falcon 2): attention and feed-forward part side by side, LayerNorm with bias. The queries,
// keys and values of each group of heads are together in one matrix. Models with the newer class may have a norm for
// each part.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::falcon {

// Without the newer class, multi_query means a single head for keys and values, whatever num_kv_heads states.
static std::optional<u64> key_heads(const hf::Config& config, const Sizes& sizes) {
  if (config.bool_field("new_decoder_architecture").value_or(false)) {
    for (const std::string_view field : {"num_kv_heads", "n_head_kv"}) {
      if (const auto stated = config.u64_field(field)) return stated;
    }
    return 8;  // the class's default
  }
  return config.bool_field("multi_query").value_or(true) ? 1 : sizes.get("H");
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-5", .layer_norm = true});
  named(keys, "context_length") = {.name = "context_length",
                                   .fields = "max_position_embeddings",
                                   .fallback = "2048",
                                   .missing = Missing::assume,
                                   .need = Need::required};
  named(keys, "feed_forward_length").fields = "ffn_hidden_size|intermediate_size";
  named(keys, "feed_forward_length").fallback = "4*E";
  named(keys, "attention.head_count_kv").fields = {};
  named(keys, "attention.head_count_kv").derive = key_heads;
  return keys;
}();
constexpr Tensor first[] = {{"token_embd", "E,V", "transformer.word_embeddings"}};
// "Na": the layers have a separate norm for attention.
constexpr Mark marks[] = {{"Na", "attn_norm_2"}};
constexpr Need must = Need::required;
constexpr Tensor layer[] = {
    {"attn_norm", "E", "[Na] ln_mlp | input_layernorm", must, must},
    {"attn_norm_2", "E", "ln_attn", Need::optional, Need::optional},
    {"attn_qkv", "E,(H+2*K)*D",
     "self_attention.query_key_value{K n:H/K+2 D -> K n[0:H/K] D} + "
     "self_attention.query_key_value{K n:H/K+2 D -> K n=H/K D} + "
     "self_attention.query_key_value{K n:H/K+2 D -> K n=H/K+1 D}"},
    {"attn_output", "H*D,E", "self_attention.dense"},
    {"ffn_up", "E,F", "mlp.dense_h_to_4h"},
    {"ffn_down", "F,E", "mlp.dense_4h_to_h"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "transformer.ln_f", must, must},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"alibi", "false", Severity::error, "for this architecture llama.cpp has rotary embeddings, no ALiBi"},
    {"parallel_attn", "true", Severity::error, "llama.cpp computes attention and feed-forward part side by side"},
    {"bias", "false", Severity::error, "for this architecture llama.cpp has no biases in the matrices"},
};
static Status describe(ConfigWriter& out) {
  const bool is_new = out.has_in_layers("attn_norm_2.weight") || (out.size("K") > 1 && out.size("K") < out.size("H"));
  out.set("new_decoder_architecture", is_new);
  out.set("multi_query", is_new || out.size("K") == 1);
  out.set("num_kv_heads", out.size("K"));
  if (is_new && !out.has_in_layers("attn_norm_2.weight")) out.set("num_ln_in_parallel_attn", u64{1});
  return {};
}

constexpr Family falcon = {
    .name = "falcon",
    .gguf = "falcon",
    .classes = "FalconForCausalLM|RWForCausalLM",
    .model_types = "falcon|RefinedWebModel|RefinedWeb",
    .about = "attention and feed-forward part side by side; Q, K and V are one matrix, group by group",
    .layer_prefixes = "transformer.h.",
    .activation = "gelu",
    .activation_names = "gelu|gelu_new|gelu_pytorch_tanh",
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .marks = marks,
    .fixed = fixed,
    .relations = {whole_width},
    .config = {.fields = "ffn_hidden_size|layer_norm_epsilon",
               .members = {{"alibi", "false"}, {"bias", "false"}, {"parallel_attn", "true"}},
               .describe = describe},
};
MU_FAMILY(falcon);

}  // namespace modelutils::arch::families::falcon
