// ModernBERT: rotary embedding with two bases, local attention in most layers, no biases.
#include <fmt/core.h>

#include <algorithm>

#include "arch/config_writer.h"
#include "arch/encoder_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::modern_bert {

// Every n-th layer is global, beginning with the first.
static Status write_global_period(KeyWriter& out, const Key& key) {
  const std::vector<std::string>& types = out.config().layer_types;
  u64 period = out.config().count_field("global_attn_every_n_layers").value_or(3);
  const auto is_global = [](const std::string& type) { return type == "full_attention"; };
  if (!types.empty()) {
    const auto second = std::find_if(types.begin() + 1, types.end(), is_global);
    if (second != types.end() || period == 0) period = static_cast<u64>(second - types.begin());
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types.size() == out.size("L") && is_global(types[i]) == (i % period == 0)) continue;
      return out.refuse("layer_types",
                        "is not a period that begins with global attention, the only order in llama.cpp");
    }
  }
  if (period == 0) return out.refuse("global_attn_every_n_layers", "is 0");
  return out.count(key.name, period);
}
static Status read_global_period(ConfigWriter& out, const Key& key) {
  out.set("global_attn_every_n_layers", out.count(key.name).value_or(3));
  return {};
}

static Status write_activation_name(KeyWriter& out, const Key& key) {
  const std::string& stated = out.config().hidden_act;
  out.text(key.name, stated == "silu" ? "silu" : "gelu");
  return {};
}
static Status read_activation_name(ConfigWriter& out, const Key& key) {
  const std::string_view name = out.text(key.name);
  out.set("hidden_activation", name == "silu" ? name : "gelu");
  return {};
}

constexpr auto sizes = encoder_sizes({.context = "8192", .epsilon = "1e-5"});
constexpr Key own[] = {
    {.name = "attention.sliding_window",
     .fields = "local_attention",
     .fallback = "128",
     .missing = Missing::assume,
     .need = Need::required},
    {.name = "attention.sliding_window_pattern",
     .need = Need::required,
     .write = write_global_period,
     .read = read_global_period},
    {.name = "rope.freq_base", .type = KeyType::f32, .write = write_theta, .read = read_theta},
    {.name = "rope.freq_base_swa", .type = KeyType::f32, .write = write_local_theta, .read = read_local_theta},
    {.name = "hidden_activation", .type = KeyType::text, .write = write_activation_name, .read = read_activation_name},
};
// The first layer normalises only the embedding.
constexpr Tensor layer[] = {
    {.name = "attn_norm", .ne = "E", .source = "attn_norm", .when = "i"},
    {"attn_qkv", "E,3*E", "attn.Wqkv"},
    {"attn_output", "E,E", "attn.Wo"},
    {"ffn_norm", "E", "mlp_norm"},
    {"ffn_up", "E,2*F", "mlp.Wi"},
    {"ffn_down", "F,E", "mlp.Wo"},
};
constexpr Tensor first[] = {
    {"token_embd", "E,V", "embeddings.tok_embeddings"},
    {"token_embd_norm", "E", "embeddings.norm"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "final_norm"},
    {"cls", "E,E", "[N] head.dense", Need::optional},
    {"cls.norm", "E", "[N] head.norm", Need::optional},
    {"cls.output", "E,N", "classifier", Need::optional, Need::optional},
};
constexpr std::string_view no_biases = "llama.cpp has no biases for ModernBERT";
constexpr Fixed fixed[] = {
    {"attention_bias", "false", Severity::error, no_biases},
    {"mlp_bias", "false", Severity::error, no_biases},
    {"norm_bias", "false", Severity::error, no_biases},
    {"classifier_bias", "false", Severity::error, no_biases},
    {"classifier_activation", "gelu|gelu_new|gelu_pytorch_tanh", Severity::error,
     "llama.cpp computes gelu in the head"},
};

// Rank pooling is the mean for this architecture. The class reads the first token unless told otherwise.
static Status check_classifier(KeyWriter& out) {
  if (out.size("N") == 0) return {};
  const std::string_view pooling = out.config().string_field("classifier_pooling").value_or("cls");
  if (pooling == "mean") return {};
  return out.refuse("classifier_pooling",
                    fmt::format("is '{}'; llama.cpp ranks with ModernBERT by the mean of all tokens", pooling));
}
static Status describe(ConfigWriter& out) {
  const bool has_scores = out.has_tensor("cls.output.weight");
  set_identity(out, has_scores ? "ModernBertForSequenceClassification" : "ModernBertModel", "modernbert");
  if (has_scores) out.set("classifier_pooling", "mean");
  return {};
}

constexpr Family modern_bert = {
    .name = "modern-bert",
    .gguf = "modern-bert",
    .classes = "ModernBertModel|ModernBertForMaskedLM|ModernBertForSequenceClassification",
    .model_types = "modernbert",
    .about = "an encoder with local attention in most layers",
    .layer_prefixes = "layers.",
    .outer_prefixes = "model.",
    .left_out = "head.|decoder.",
    .activation = "gelu",
    .activation_names = "gelu|silu",
    .head = OutputHead::never,
    .hf_rope_theta = 160000,
    .keys = {sizes, no_token_types, own},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = fixed,
    .checks = {check_classifier},
    .config = {.fields = "norm_eps|global_rope_theta|local_rope_theta|hidden_activation", .describe = describe},
    .cache = {.has_cache = false},
};
MU_FAMILY(modern_bert);

}  // namespace modelutils::arch::families::modern_bert
