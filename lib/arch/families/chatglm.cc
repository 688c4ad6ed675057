// ChatGLM, that is GLM-4-9b and ChatGLM3 in the class of their own code: queries, keys and values in one matrix, gate
// and up in another. Pairs of half of each head are rotated. The same model in transformers' class is in glm4.cc.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::chatglm {

static std::optional<u64> key_heads(const hf::Config& config, const Sizes& sizes) {
  if (!config.bool_field("multi_query_attention").value_or(false)) return sizes.get("H");
  return config.u64_field("multi_query_group_num");
}
constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-5"});
  named(keys, "block_count").fields = "num_layers|num_hidden_layers";
  named(keys, "context_length") = {
      .name = "context_length", .fields = "seq_length", .missing = Missing::refuse, .need = Need::required};
  named(keys, "feed_forward_length").fields = "ffn_hidden_size";
  named(keys, "attention.head_count_kv").fields = {};
  named(keys, "attention.head_count_kv").derive = key_heads;
  named(keys, "attention.layer_norm_rms_epsilon").fields = "layernorm_epsilon";
  named(keys, "attention.key_length").fields = "kv_channels";
  named(keys, "vocab_size").fields = "padded_vocab_size|vocab_size";
  return keys;
}();
constexpr double usual_base = 10000;
static Status write_base(KeyWriter& out, const Key& key) {
  return out.real(key.name, usual_base * out.config().number_field("rope_ratio").value_or(1));
}
static Status read_base(ConfigWriter& out, const Key& key) {
  out.set("rope_ratio", out.real(key.name).value_or(usual_base) / usual_base);
  return {};
}
constexpr Key rope[] = {
    {.name = "rope.dimension_count", .symbol = "R", .fallback = "D/2", .loader_default = "D"},
    {.name = "rope.freq_base", .type = KeyType::f32, .write = write_base, .read = read_base},
};
constexpr Tensor first[] = {{"token_embd", "E,V", "transformer.embedding.word_embeddings"}};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_qkv", "E,(H+2*K)*D", "self_attention.query_key_value", Need::required, Need::optional},
    {"attn_output", "H*D,E", "self_attention.dense"},
    {"ffn_norm", "E", "post_attention_layernorm"},
    {"ffn_up", "E,2*F", "mlp.dense_h_to_4h"},
    {"ffn_down", "F,E", "mlp.dense_4h_to_h"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "transformer.encoder.final_layernorm"},
    {"output", "E,V", "transformer.output_layer"},
};
constexpr Fixed fixed[] = {
    rotates_pairs,
    {"rmsnorm", "true", Severity::error, "llama.cpp computes RMSNorm"},
    {"add_bias_linear", "false", Severity::error, "llama.cpp has biases only for queries, keys and values"},
    {"apply_residual_connection_post_layernorm", "false", Severity::error, "llama.cpp adds what precedes the norm"},
    {"post_layer_norm", "true", Severity::error, "llama.cpp has a norm before the head"},
    {"original_rope", "true", Severity::error, "llama.cpp rotates pairs of half of each head"},
};
constexpr Relation relations[] = {
    whole_width,
    {"R", "D/2", {}, "the class rotates half of each head"},
};
static Status describe(ConfigWriter& out) {
  out.set("multi_query_attention", out.size("K") != out.size("H"));
  out.set("multi_query_group_num", out.size("K"));
  out.set("vocab_size", out.size("V"));
  return {};
}
constexpr Member members[] = {
    {"add_qkv_bias", "@attn_qkv.bias"},
    {"add_bias_linear", "false"},
    {"rmsnorm", "true"},
    {"original_rope", "true"},
    {"post_layer_norm", "true"},
    {"apply_residual_connection_post_layernorm", "false"},
};

constexpr Family chatglm = {
    .name = "chatglm",
    .gguf = "chatglm",
    .classes = "ChatGLMModel|ChatGLMForConditionalGeneration",
    .model_types = "chatglm",
    .about = "Q, K and V in one matrix, gate and up in another; half of each head rotated by pairs",
    .gguf_key = "@blk.0.attn_qkv.weight",
    .layer_prefixes = "transformer.encoder.layers.",
    .keys = {sizes, rope},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = fixed,
    .relations = relations,
    .config = {.fields = "num_layers|padded_vocab_size", .members = members, .describe = describe},
    .tokenizer = {.pre_of_ranks = "chatglm=chatglm-bpe", .user_ends_turn = true},
};
MU_FAMILY(chatglm);

}  // namespace modelutils::arch::families::chatglm
