// Jina's encoders: version 2 has ALiBi and GEGLU, in one model with norms of queries and keys; version 3 is an
// XLM-RoBERTa with a rotary embedding, whose adapters for tasks are files of their own.
#include <algorithm>

#include "arch/config_writer.h"
#include "arch/encoder_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::jina_bert {

constexpr auto sizes = encoder_sizes({.context = "8192"});
// Gate and values in one matrix or, in the first files, in two. The model for code has the gate in the second half.
constexpr Tensor layer[] = {
    {"attn_q", "E,E", "attention.self.query", Need::required, Need::optional},
    {"attn_q_norm", "E", "attention.self.layer_norm_q", Need::optional, Need::optional},
    {"attn_k", "E,E", "attention.self.key", Need::required, Need::optional},
    {"attn_k_norm", "E", "attention.self.layer_norm_k", Need::optional, Need::optional},
    {"attn_v", "E,E", "attention.self.value", Need::required, Need::optional},
    {"attn_output", "E,E", "attention.output.dense", Need::required, Need::required},
    {"attn_output_norm", "E", "attention.output.LayerNorm", Need::required, Need::required},
    {"attn_norm_2", "E", "layer_norm_1", Need::optional, Need::optional},
    {"ffn_gate", "E,F", "mlp.gated_layers_w", Need::optional},
    {"ffn_up", "E,2*F-g*F",
     "[!g & !c] mlp.gated_layers | [c] mlp.up_gated_layer{t:2 F -> t=1 F} + mlp.up_gated_layer{t:2 F -> t=0 F} | "
     "mlp.gated_layers_v"},
    {"ffn_down", "F,E", "[!c] mlp.wo | mlp.down_layer", Need::required, Need::required},
    {"layer_output_norm", "E", "[!c] mlp.layernorm | layer_norm_2", Need::required, Need::required},
};
// Rerankers have a single score, and their class is not converted; files of llama.cpp's converter have it.
constexpr Tensor v2_last[] = {{"cls", "E,1", "classifier", Need::optional, Need::optional}};
constexpr Mark marks[] = {{"g", "ffn_gate"}, {"c", "attn_norm_2"}};

static Status describe_v2(ConfigWriter& out) {
  const bool has_norms = out.has_in_layers("attn_q_norm.weight");
  set_identity(out, "JinaBertModel", "bert");
  if (has_norms) out.set("use_qk_norm", true);
  return {};
}

constexpr Family jina_bert_v2 = {
    .name = "jina-bert-v2",
    .gguf = "jina-bert-v2",
    .classes = "JinaBertModel|JinaBertForMaskedLM",
    .model_types = "jina_bert",
    .about = "an encoder with ALiBi and GEGLU",
    .layer_prefixes = "encoder.layer.",
    .outer_prefixes = "bert.|roberta.|model.|transformer.",
    .left_out = "embeddings.position_ids|cls.|lm_head.|pooler.|encoder.alibi|encoder.rotary",
    .activation = "gelu",
    .activation_names = "gelu|gelu_new|gelu_pytorch_tanh",
    .head = OutputHead::never,
    .keys = {sizes, token_types},
    .layer_tensors = {layer},
    .first_tensors = typed_embeddings,
    .last_tensors = v2_last,
    .marks = marks,
    .fixed = {sees_everything,
              {"position_embedding_type", "alibi", Severity::error, "llama.cpp computes ALiBi for this architecture"},
              {"feed_forward_type", "geglu", Severity::error, "llama.cpp computes GEGLU for this architecture"}},
    .checks = {warn_of_second_texts},
    .config = {.fields = "layer_norm_eps", .describe = describe_v2},
    .cache = {.has_cache = false},
};
MU_FAMILY(jina_bert_v2);

static bool is_v3(const hf::Config& config) {
  return config.field("lora_adaptations") || config.string_field("position_embedding_type") == "rotary";
}
// XLM-RoBERTa's number of positions includes the padding's.
constexpr u64 padding_positions = 2;
static Status write_context_behind_padding(KeyWriter& out, const Key& key) {
  const u64 stated = out.config().count_field("max_position_embeddings").value_or(8194);
  return out.count(key.name, stated - std::min(stated, padding_positions));
}
static Status read_context_behind_padding(ConfigWriter& out, const Key& key) {
  out.set("max_position_embeddings", out.count(key.name).value_or(0) + padding_positions);
  return {};
}
constexpr auto v3_sizes = [] {
  auto keys = encoder_sizes({.epsilon = "1e-5"});
  named(keys, "context_length") = {.name = "context_length",
                                   .need = Need::required,
                                   .write = write_context_behind_padding,
                                   .read = read_context_behind_padding};
  return keys;
}();
constexpr Key base[] = {
    {.name = "rope.freq_base", .type = KeyType::f32, .write = write_theta, .read = read_theta},
};
constexpr Tensor v3_layer[] = {
    {"attn_qkv", "E,3*E", "mixer.Wqkv", Need::required, Need::required},
    {"attn_output", "E,E", "mixer.out_proj", Need::required, Need::required},
    {"attn_output_norm", "E", "norm1", Need::required, Need::required},
    {"ffn_up", "E,F", "mlp.fc1", Need::required, Need::required},
    {"ffn_down", "F,E", "mlp.fc2", Need::required, Need::required},
    {"layer_output_norm", "E", "norm2", Need::required, Need::required},
};
constexpr auto v3_first = [] {
  auto rows = typed_embeddings;
  named(rows, "token_embd_norm").source = "emb_ln";
  return rows;
}();
constexpr std::array<Tensor, 0> nothing = {};

constexpr Family jina_bert_v3 = {
    .name = "jina-bert-v3",
    .gguf = "jina-bert-v3",
    .classes = "XLMRobertaModel",
    .model_types = "xlm-roberta",
    .about = "an XLM-RoBERTa with a rotary embedding; its adapters for tasks become files of their own (`--task`)",
    .fits = is_v3,
    .layer_prefixes = "encoder.layers.",
    .outer_prefixes = "roberta.|bert.|model.|transformer.",
    .left_out = "embeddings.position_ids|lm_head.|pooler.|*.lora_A|*.lora_B",
    .activation = "gelu",
    .activation_names = "gelu|gelu_new|gelu_pytorch_tanh",
    .head = OutputHead::never,
    .hf_rope_theta = 20000,
    .keys = {v3_sizes, token_types, base},
    .layer_tensors = {v3_layer},
    .first_tensors = v3_first,
    .last_tensors = nothing,
    .fixed = {sees_everything},
    .checks = {note_tasks},
    .config = {.fields = "layer_norm_eps|rotary_emb_base", .members = {{"position_embedding_type", "rotary"}}},
    .cache = {.has_cache = false},
};
MU_FAMILY(jina_bert_v3);

}  // namespace modelutils::arch::families::jina_bert
