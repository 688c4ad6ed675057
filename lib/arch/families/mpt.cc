// MPT: ALiBi or learned positions, queries, keys and values in one matrix, LayerNorm; most models have no biases.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::mpt {

static std::optional<u64> feed_forward(const hf::Config& config, const Sizes& sizes) {
  const std::optional<u64> ratio = config.u64_field("expansion_ratio");
  return checked_mul(ratio.value_or(4), sizes.get("E"));
}
// Grouped attention states its heads; multi-query attention has one.
static std::optional<u64> key_heads(const hf::Config& config, const Sizes& sizes) {
  const auto type = config.string_field("attn_config.attn_type");
  if (type == "multiquery_attention") return 1;
  if (type == "grouped_query_attention") return config.u64_field("attn_config.kv_n_heads");
  return sizes.get("H");
}
constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-5", .layer_norm = true});
  named(keys, "context_length") = {.name = "context_length",
                                   .fields = "max_seq_len",
                                   .symbol = "C",
                                   .fallback = "2048",
                                   .missing = Missing::warn,
                                   .need = Need::required};
  named(keys, "embedding_length").fields = "d_model";
  named(keys, "feed_forward_length").fields = {};
  named(keys, "feed_forward_length").derive = feed_forward;
  named(keys, "attention.head_count_kv").fields = {};
  named(keys, "attention.head_count_kv").derive = key_heads;
  named(keys, "attention.layer_norm_epsilon").fields = {};
  return keys;
}();
static Status write_bias(KeyWriter& out, const Key& key) {
  const bool has_alibi = out.config().bool_field("attn_config.alibi").value_or(false);
  return out.real(key.name, has_alibi ? out.config().number_field("attn_config.alibi_bias_max").value_or(8) : 0);
}
static Status read_bias(ConfigWriter& out, const Key& key) {
  const double largest = out.real(key.name).value_or(0);
  out.set("attn_config.alibi", largest > 0);
  if (largest > 0) out.set("attn_config.alibi_bias_max", largest);
  return {};
}
constexpr Key own[] = {
    {.name = "attention.max_alibi_bias", .type = KeyType::f32, .write = write_bias, .read = read_bias},
    {.name = "attention.clamp_kqv", .type = KeyType::f32, .fields = "attn_config.clip_qkv"},
};
constexpr Need must = Need::required, may = Need::optional;
constexpr Tensor first[] = {
    {"token_embd", "E,V", "transformer.wte"},
    {"position_embd", "E,C", "transformer.wpe", may},
};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "norm_1", must, may},
    {"attn_qkv", "E,(H+2*K)*D", "attn.Wqkv", must, may},
    {"attn_q_norm", "E", "attn.q_ln", may, may},
    {"attn_k_norm", "E", "attn.k_ln", may, may},
    {"attn_output", "H*D,E", "attn.out_proj", must, may},
    {"ffn_norm", "E", "norm_2", must, may},
    {"ffn_up", "E,F", "ffn.up_proj", must, may},
    {"ffn_down", "F,E", "ffn.down_proj", must, may},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "transformer.norm_f", must, may},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {
    {"attn_config.prefix_lm", "false", Severity::error, "llama.cpp computes causal attention for this architecture"},
    {"attn_config.rope", "false", Severity::error, "llama.cpp has no rotary embeddings for this architecture"},
    {"attn_config.softmax_scale", "null", Severity::error, "llama.cpp scales by the size of a head"},
    {"attn_config.sliding_window_size", "-1", Severity::error, "llama.cpp has no windows in this architecture"},
    {"attn_config.qk_gn", "false", Severity::error, "llama.cpp has no norms of single heads in this architecture"},
    {"ffn_config.ffn_type", "mptmlp", Severity::error, "llama.cpp has no gate in this architecture"},
    {"norm_type", "layernorm|low_precision_layernorm", Severity::error, "llama.cpp computes LayerNorm"},
    {"logit_scale", "null", Severity::error, "llama.cpp does not scale the logits of this architecture"},
};
static Status check_positions(KeyWriter& out) {
  const bool has_alibi = out.config().bool_field("attn_config.alibi").value_or(false);
  const bool is_learned = out.config().bool_field("learned_pos_emb").value_or(true);
  if (has_alibi || is_learned) return {};
  return out.refuse("attn_config.alibi", "is false, and learned_pos_emb, too: llama.cpp knows no other positions here");
}
static Status describe(ConfigWriter& out) {
  const u64 heads = out.size("H"), key_heads = out.size("K"), width = out.size("E");
  const std::string_view type = key_heads == heads ? "multihead_attention"
                                : key_heads == 1   ? "multiquery_attention"
                                                   : "grouped_query_attention";
  out.set("attn_config.attn_type", std::string(type));
  if (key_heads != heads && key_heads != 1) out.set("attn_config.kv_n_heads", key_heads);
  out.set("attn_config.qk_ln", out.has_in_layers("attn_q_norm.weight"));
  out.set("no_bias", !out.has_in_layers("ffn_up.bias"));
  if (!out.has("attn_config.clip_qkv")) out.set("attn_config.clip_qkv", nullptr);
  if (width == 0 || out.size("F") % width != 0) {
    return out.refuse("feed_forward_length", "is no multiple of embedding_length, which config.json cannot state");
  }
  out.set("expansion_ratio", out.size("F") / width);
  return {};
}

constexpr Family mpt = {
    .name = "mpt",
    .gguf = "mpt",
    .classes = "MPTForCausalLM|MptForCausalLM",
    .model_types = "mpt",
    .about = "ALiBi or learned positions; Q, K and V are one matrix; biases are optional",
    .layer_prefixes = "transformer.blocks.",
    .activation = "gelu",
    .activation_names = "gelu",
    .tied_by_default = true,
    .class_has_defaults = true,
    .keys = {sizes, own},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = fixed,
    .relations = {whole_width},
    .checks = {check_positions},
    .config = {.fields = "n_layers|n_heads",
               .members = {{"attn_config.prefix_lm", "false"}, {"attn_config.softmax_scale", "null"}},
               .describe = describe},
};
MU_FAMILY(mpt);

}  // namespace modelutils::arch::families::mpt
