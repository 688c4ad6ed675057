// BERT and its relatives: learned positions, norms after attention and feed-forward part. RoBERTa, XLM-RoBERTa and
// CamemBERT have the same layers, but their positions begin after the padding's. DistilBERT has other names and no
// token types.
#include <fmt/core.h>

#include "arch/config_writer.h"
#include "arch/encoder_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::bert {

// RoBERTa's positions count from pad_token_id + 1; the rows before have no token. Symbol O.
static void set_offset(const hf::Config& config, Sizes& sizes) {
  const bool has_offset = has_name("roberta|xlm-roberta|camembert", config.model_type);
  constexpr u64 usual_padding = 1;
  sizes.set("O", has_offset ? config.count_field("pad_token_id").value_or(usual_padding) + 1 : 0);
}

static std::optional<u64> positions(const hf::Config& config, const Sizes& sizes) {
  const std::optional<u64> all = config.count_field("max_position_embeddings");
  return all && *all > sizes.get("O") ? std::optional(*all - sizes.get("O")) : std::nullopt;
}

static Status write_positions(KeyWriter& out, const Key& key) {
  const std::optional<u64> stated = positions(out.config(), out.sizes());
  if (stated && *stated != out.size(key.symbol)) {
    return out.refuse("max_position_embeddings",
                      fmt::format("leaves {} positions, but the tensors have {}", *stated, out.size(key.symbol)));
  }
  return out.count(key.name, out.size(key.symbol));
}

static Status read_positions(ConfigWriter& out, const Key& key) {
  out.set("max_position_embeddings", out.count(key.name).value_or(0));
  return {};
}

constexpr auto sizes = [] {
  auto keys = encoder_sizes();
  named(keys, "context_length") = {.name = "context_length",
                                   .symbol = "P",
                                   .missing = Missing::refuse,
                                   .need = Need::required,
                                   .derive = positions,
                                   .write = write_positions,
                                   .read = read_positions};
  return keys;
}();
constexpr Tensor positions_row[] = {
    {"position_embd", "E,P", "[O] embeddings.position_embeddings{skip:O P -> P} | [!O] embeddings.position_embeddings"},
};
constexpr Tensor layer[] = {
    {"attn_q", "E,E", "attention.self.query", Need::required, Need::required},
    {"attn_k", "E,E", "attention.self.key", Need::required, Need::required},
    {"attn_v", "E,E", "attention.self.value", Need::required, Need::required},
    {"attn_output", "E,E", "attention.output.dense", Need::required, Need::required},
    {"attn_output_norm", "E", "attention.output.LayerNorm", Need::required, Need::required},
    {"ffn_up", "E,F", "intermediate.dense", Need::required, Need::required},
    {"ffn_down", "F,E", "output.dense", Need::required, Need::required},
    {"layer_output_norm", "E", "output.LayerNorm", Need::required, Need::required},
};
constexpr auto first = joined(std::to_array(positions_row), typed_embeddings);
constexpr Fixed fixed[] = {
    sees_everything,
    {"position_embedding_type", "absolute", Severity::error, "llama.cpp computes absolute positions for BERT"},
};
// Every file of the architecture can be written as a BERT: the rows before RoBERTa's first position have no effect, and
// its classifier is BERT's pooler and classifier.
static Status describe(ConfigWriter& out) {
  const bool has_scores = out.has_tensor("cls.output.weight");
  set_identity(out, has_scores ? "BertForSequenceClassification" : "BertModel", "bert");
  return {};
}

constexpr Family bert = {
    .name = "bert",
    .gguf = "bert",
    .classes =
        "BertModel|BertForMaskedLM|BertForSequenceClassification|RobertaModel|RobertaForMaskedLM|"
        "RobertaForSequenceClassification|XLMRobertaModel|XLMRobertaForMaskedLM|"
        "XLMRobertaForSequenceClassification|CamembertModel|CamembertForMaskedLM|"
        "CamembertForSequenceClassification",
    .model_types = "bert|roberta|xlm-roberta|camembert",
    .about = "an encoder; also RoBERTa, XLM-RoBERTa and CamemBERT, and their cross-encoders",
    .config_sizes = set_offset,
    .layer_prefixes = "encoder.layer.",
    .outer_prefixes = "bert.|roberta.|camembert.|model.|transformer.",
    .left_out = "embeddings.position_ids|embeddings.token_type_ids|cls.|lm_head.|pooler.",
    .activation = "gelu",
    .activation_names = "gelu|gelu_new|gelu_pytorch_tanh",
    .head = OutputHead::never,
    .keys = {sizes, token_types},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = classifier_head,
    .fixed = fixed,
    .checks = {warn_of_second_texts},
    .config = {.fields = "layer_norm_eps", .describe = describe},
    .cache = {.has_cache = false},
};
MU_FAMILY(bert);

constexpr Tensor distil_layer[] = {
    {"attn_q", "E,E", "attention.q_lin", Need::required, Need::required},
    {"attn_k", "E,E", "attention.k_lin", Need::required, Need::required},
    {"attn_v", "E,E", "attention.v_lin", Need::required, Need::required},
    {"attn_output", "E,E", "attention.out_lin", Need::required, Need::required},
    {"attn_output_norm", "E", "sa_layer_norm", Need::required, Need::required},
    {"ffn_up", "E,F", "ffn.lin1", Need::required, Need::required},
    {"ffn_down", "F,E", "ffn.lin2", Need::required, Need::required},
    {"layer_output_norm", "E", "output_layer_norm", Need::required, Need::required},
};
constexpr std::array<Tensor, 3> distil_first = {{
    {"position_embd", "E,P", "embeddings.position_embeddings"},
    named(typed_embeddings, "token_embd"),
    named(typed_embeddings, "token_embd_norm"),
}};
constexpr std::array<Tensor, 0> nothing = {};
// The class applies ReLU before the scores.
static Status refuse_classifier(KeyWriter& out) {
  if (!is_classifier(out.config())) return {};
  return out.refuse("architectures", "is a classifier whose hidden layer has a ReLU; llama.cpp computes tanh there");
}

constexpr Family distilbert = {
    .name = "distilbert",
    .gguf = "bert",
    .classes = "DistilBertModel|DistilBertForMaskedLM|DistilBertForSequenceClassification",
    .model_types = "distilbert",
    .about = "an encoder with BERT's layers and without types of tokens",
    .gguf_lacks = "token_types.weight",
    .layer_prefixes = "transformer.layer.",
    .outer_prefixes = "distilbert.|bert.|model.|transformer.",
    .left_out = "embeddings.position_ids|vocab_",
    .activation = "gelu",
    .activation_names = "gelu|gelu_new|gelu_pytorch_tanh",
    .head = OutputHead::never,
    .keys = {sizes, no_token_types},
    .layer_tensors = {distil_layer},
    .first_tensors = distil_first,
    .last_tensors = nothing,
    .fixed = {{"activation", "gelu|gelu_new|gelu_pytorch_tanh", Severity::error, "llama.cpp computes gelu for BERT"},
              {"sinusoidal_pos_embds", "false", Severity::warning, "the positions are taken as stored"}},
    .checks = {refuse_classifier},
    .config = {.fields = "dim|n_layers|n_heads|hidden_dim"},
    .cache = {.has_cache = false},
};
MU_FAMILY(distilbert);

}  // namespace modelutils::arch::families::bert
