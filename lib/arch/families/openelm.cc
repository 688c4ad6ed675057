// OpenELM: head counts and feed-forward widths differ between layers; Q, K and V in one matrix, gate and up in another.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::openelm {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-6"});
  named(keys, "block_count").fields = "num_transformer_layers";
  named(keys, "context_length") = {.name = "context_length",
                                   .fields = "max_context_length",
                                   .fallback = "2048",
                                   .missing = Missing::warn,
                                   .need = Need::required};
  named(keys, "embedding_length").fields = "model_dim";
  named(keys, "feed_forward_length").fields = {};  // the tensors give the widths exactly; ffn_multipliers are rounded
  named(keys, "feed_forward_length").missing = Missing::refuse;
  named(keys, "attention.head_count").fields = "num_query_heads";
  named(keys, "attention.head_count").derive_layers = [](const hf::Config& config, const Sizes&) {
    return counts_of_layers(config, "num_query_heads");
  };
  named(keys, "attention.head_count_kv").fields = "num_kv_heads";
  named(keys, "attention.head_count_kv").fallback = {};
  named(keys, "attention.head_count_kv").missing = Missing::refuse;
  named(keys, "attention.head_count_kv").derive_layers = [](const hf::Config& config, const Sizes&) {
    return counts_of_layers(config, "num_kv_heads");
  };
  return keys;
}();
constexpr Key rope[] = {
    {.name = "rope.dimension_count", .symbol = "R", .fallback = "D", .loader_default = "D"},
    {.name = "rope.freq_base",
     .type = KeyType::f32,
     .fields = "rope_freq_constant",
     .fallback = "10000",
     .missing = Missing::assume},
};
constexpr Tensor first[] = {{"token_embd", "E,V", "transformer.token_embeddings"}};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "attn_norm"},
    {"attn_qkv", "E,H*D+2*K*D", "attn.qkv_proj"},
    {"attn_q_norm", "D", "attn.q_norm"},
    {"attn_k_norm", "D", "attn.k_norm"},
    {"attn_output", "H*D,E", "attn.out_proj"},
    {"ffn_norm", "E", "ffn_norm"},
    {"ffn_gate", "E,F", "ffn.proj_1{t:2 F -> t=0 F}"},
    {"ffn_up", "E,F", "ffn.proj_1{t:2 F -> t=1 F}"},
    {"ffn_down", "F,E", "ffn.proj_2"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "transformer.norm"},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {
    {"ffn_with_glu", "true", Severity::error, "llama.cpp has only gated feed-forward parts"},
    {"normalize_qk_projections", "true", Severity::error, "for this architecture llama.cpp needs the norms of Q and K"},
    {"share_input_output_layers", "true", Severity::error, "llama.cpp always uses the embedding as the output head"},
    {"activation_fn_name", "swish|silu", Severity::error, "llama.cpp computes silu"},
    {"normalization_layer_name", "rms_norm", Severity::error, "llama.cpp computes RMS norms"},
};
// Widths are multiples of a divisor; the lists have one number per layer.
static Status describe(ConfigWriter& out) {
  std::vector<u64> heads, kv_heads;
  std::vector<double> multipliers;
  u64 divisor = 256;
  const u64 layers = out.size("L");
  for (u64 i = 0; i < layers; ++i) {
    const u64 width = out.sizes().get("F", i);
    while (width % divisor != 0) divisor /= 2;
    heads.push_back(out.sizes().get("H", i));
    kv_heads.push_back(out.sizes().get("K", i));
    multipliers.push_back(static_cast<double>(width) / static_cast<double>(out.size("E")));
  }
  out.set("num_query_heads", hf::config_list(heads));
  out.set("num_kv_heads", hf::config_list(kv_heads));
  out.set("num_gqa_groups", kv_heads.front() > 0 ? heads.front() / kv_heads.front() : 1);
  out.set("ffn_multipliers", hf::config_list(multipliers));
  out.set("ffn_dim_divisor", divisor);
  return {};
}

constexpr Family openelm = {
    .name = "openelm",
    .gguf = "openelm",
    .classes = "OpenELMForCausalLM",
    .model_types = "openelm",
    .about = "The number of heads and the width of the feed-forward part differ from layer to layer.",
    .layer_prefixes = "transformer.layers.",
    .head = OutputHead::never,
    .tied_by_default = true,
    .keys = {sizes, rope},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = fixed,
    .config = {.describe = describe},
};
MU_FAMILY(openelm);

}  // namespace modelutils::arch::families::openelm
