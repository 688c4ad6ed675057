// NomicBERT: BERT's order of norms with a rotary embedding and SwiGLU; with experts in some layers in version 2.
#include <fmt/core.h>

#include <algorithm>

#include "arch/config_writer.h"
#include "arch/encoder_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::nomic_bert {

// The published configs state more positions than the models were trained for, of which llama.cpp uses these.
constexpr u64 stated_positions[] = {8192, 2048}, trained_positions[] = {2048, 512};

static Status write_trained_context(KeyWriter& out, const Key& key) {
  u64 context = out.config().count_field("n_positions|max_position_embeddings").value_or(2048);
  const auto* const published = std::find(std::begin(stated_positions), std::end(stated_positions), context);
  const u64 trained = out.config().count_field("max_trained_positions").value_or(2048);
  if (published != std::end(stated_positions) && trained == 2048) {
    context = trained_positions[published - std::begin(stated_positions)];
  } else {
    context = std::min(context, trained);
    out.warn("n_positions", fmt::format("and max_trained_positions are not those of a published model; the context "
                                        "length {} is written",
                                        context));
  }
  return out.count(key.name, context);
}

static Status read_trained_context(ConfigWriter& out, const Key& key) {
  const u64 context = out.count(key.name).value_or(0);
  const auto* const trained = std::find(std::begin(trained_positions), std::end(trained_positions), context);
  const bool is_published = trained != std::end(trained_positions);
  out.set("n_positions", is_published ? stated_positions[trained - std::begin(trained_positions)] : context);
  out.set("max_trained_positions", is_published ? u64{2048} : context);
  return {};
}

static bool has_experts(const hf::Config& config) {
  return config.count_field("moe_every_n_layers").value_or(0) > 0;
}
static bool has_no_experts(const hf::Config& config) {
  return !has_experts(config);
}

constexpr auto sizes = [] {
  auto keys = encoder_sizes();
  named(keys, "context_length") = {
      .name = "context_length", .need = Need::required, .write = write_trained_context, .read = read_trained_context};
  return keys;
}();
constexpr Key base[] = {
    {.name = "rope.freq_base", .type = KeyType::f32, .write = write_theta, .read = read_theta},
};
constexpr Key experts_of_layers[] = {
    {.name = "expert_count", .fields = "num_experts", .symbol = "X", .need = Need::required},
    {.name = "expert_used_count", .fields = "moe_top_k", .symbol = "U", .need = Need::required},
    {.name = "moe_every_n_layers", .fields = "moe_every_n_layers", .symbol = "M", .need = Need::required},
};
constexpr Tensor attention_rows[] = {
    {"attn_qkv", "E,3*E", "attn.Wqkv"},
    {"attn_output", "E,E", "attn.out_proj"},
    {"attn_output_norm", "E", "norm1", Need::required, Need::required},
};
constexpr Tensor gated[] = {
    {"ffn_up", "E,F", "mlp.fc11"},
    {"ffn_gate", "E,F", "mlp.fc12"},
    {"ffn_down", "F,E", "mlp.fc2"},
    {"layer_output_norm", "E", "norm2", Need::required, Need::required},
};
constexpr auto attention_with_bias = [] {
  auto rows = std::to_array(attention_rows);
  named(rows, "attn_qkv").bias = Need::required;
  named(rows, "attn_output").bias = Need::required;
  return rows;
}();
// Each expert's second matrix is stored transposed.
constexpr Tensor mixture[] = {
    {.name = "ffn_up", .ne = "E,F", .source = "mlp.fc1", .bias = Need::required, .when = "i%M != 1"},
    {.name = "ffn_down", .ne = "F,E", .source = "mlp.fc2", .bias = Need::required, .when = "i%M != 1"},
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "mlp.router.layer", .when = "i%M == 1", .f32 = true},
    {.name = "ffn_up_exps",
     .ne = "E,F,X",
     .source = "mlp.experts.mlp.w1{X F -> X F}",
     .when = "i%M == 1",
     .stored = "X*F,E"},
    {.name = "ffn_down_exps",
     .ne = "F,E,X",
     .source = "mlp.experts.mlp.w2{{X F c:E -> X c F}}",
     .when = "i%M == 1",
     .stored = "X*F,E"},
    {"layer_output_norm", "E", "norm2", Need::required, Need::required},
};
constexpr auto first = [] {
  auto rows = typed_embeddings;
  named(rows, "token_embd_norm").source = "emb_ln";
  return rows;
}();
constexpr std::array<Tensor, 0> nothing = {};
constexpr Fixed fixed[] = {
    {"causal", "false", Severity::error, "llama.cpp computes attention over the whole text for this architecture"},
    {"prenorm", "false", Severity::error, "llama.cpp normalises behind attention and feed-forward part"},
    {"rotary_emb_fraction", "1", Severity::error, "llama.cpp rotates the whole head"},
    {"rotary_emb_interleaved", "false", Severity::error, "llama.cpp rotates halves of a head"},
    {"rotary_emb_scale_base", "", Severity::error, "llama.cpp does not scale rotated elements"},
    {"use_rms_norm", "false", Severity::error, "llama.cpp computes LayerNorm for this architecture"},
    {"parallel_block", "false", Severity::error, "llama.cpp computes the feed-forward part behind attention"},
    {"activation_function", "swiglu", Severity::error, "llama.cpp computes SwiGLU for this architecture"},
};
constexpr Fixed mixture_fixed[] = {
    fixed[0],
    fixed[1],
    fixed[2],
    fixed[3],
    fixed[4],
    fixed[5],
    fixed[6],
    {"activation_function", "gelu|gelu_new|gelu_pytorch_tanh", Severity::error,
     "llama.cpp computes gelu for this architecture"},
    {"moe_normalize_expert_weights", "false", Severity::error, "llama.cpp does not normalise the experts' weights"},
    {"num_shared_experts", "0", Severity::error, "llama.cpp has no shared experts for this architecture"},
};
constexpr std::string_view fields =
    "n_embd|n_layer|n_head|n_inner|layer_norm_epsilon|rotary_emb_base|activation_function";
constexpr Member members[] = {
    {"qkv_proj_bias", "false"},
    {"mlp_fc1_bias", "false"},
    {"mlp_fc2_bias", "false"},
};
constexpr Member mixture_members[] = {
    {"qkv_proj_bias", "true"},
    {"mlp_fc1_bias", "true"},
    {"mlp_fc2_bias", "true"},
};

constexpr Family nomic_bert = {
    .name = "nomic-bert",
    .gguf = "nomic-bert",
    .classes = "NomicBertModel",
    .model_types = "nomic_bert",
    .about = "an encoder with SwiGLU",
    .fits = has_no_experts,
    .layer_prefixes = "encoder.layers.",
    .outer_prefixes = "bert.|model.|transformer.",
    .left_out = "embeddings.position_ids|cls.|lm_head.|pooler.",
    .activation = "swiglu",
    .activation_names = "swiglu",
    .head = OutputHead::never,
    .keys = {sizes, token_types, base},
    .layer_tensors = {attention_rows, gated},
    .first_tensors = first,
    .last_tensors = nothing,
    .fixed = fixed,
    .config = {.fields = fields, .members = members},
    .cache = {.has_cache = false},
};
MU_FAMILY(nomic_bert);

constexpr Family nomic_bert_moe = {
    .name = "nomic-bert-moe",
    .gguf = "nomic-bert-moe",
    .classes = "NomicBertModel",
    .model_types = "nomic_bert",
    .about = "an encoder with experts in some layers",
    .fits = has_experts,
    .layer_prefixes = "encoder.layers.",
    .outer_prefixes = "bert.|roberta.|model.|transformer.",
    .left_out = "embeddings.position_ids|cls.|lm_head.|pooler.",
    .lost_unless_zero = "mlp.experts.bias",
    .activation = "gelu",
    .activation_names = "gelu",
    .head = OutputHead::never,
    .keys = {sizes, token_types, base, experts_of_layers},
    .layer_tensors = {attention_with_bias, mixture},
    .first_tensors = first,
    .last_tensors = nothing,
    .fixed = mixture_fixed,
    .config = {.fields = fields, .members = mixture_members},
    .cache = {.has_cache = false},
};
MU_FAMILY(nomic_bert_moe);

}  // namespace modelutils::arch::families::nomic_bert
