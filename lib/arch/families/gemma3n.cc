// Gemma 3n: alternating updates of four residual streams (AltUp), learned residuals (LAuReL), embeddings for every
// layer; the last layers share keys and values.
#include <algorithm>
#include <limits>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::gemma3n {

constexpr u64 sparse_layers = 10;
// Writes one number per layer like config.json, even if all are equal.
static Status write_widths(KeyWriter& out, const Key& key) {
  std::vector<u64> widths;
  for (u64 i = 0; i < out.size(symbol::layers); ++i) widths.push_back(out.sizes().get("F", i));
  return out.counts(key.name, widths);
}
constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "32768", .epsilon = "1e-6", .head_dim = "256"});
  named(keys, "feed_forward_length").write = write_widths;
  return keys;
}();
// Writes the activation sparsity. Sparse layers cut off features below mean + scale * deviation, which covers 95 % of a
// normal distribution; other layers have minus infinity. llama.cpp has the scale hard-coded, as torch computes it in
// float32, but its converter writes the key.
static Status write_sparsity(KeyWriter& out, const Key& key) {
  constexpr double below_95_percent = 1.6448533535003662;
  std::vector<float> scales;
  for (u64 i = 0; i < out.size(symbol::layers); ++i) {
    scales.push_back(i < sparse_layers ? static_cast<float>(below_95_percent)
                                       : -std::numeric_limits<float>::infinity());
  }
  out.reals(key.name, scales);
  return {};
}
constexpr Key own[] = {
    {.name = "activation_sparsity_scale", .type = KeyType::f32_list, .write = write_sparsity},
    sliding_window("512", Missing::warn, Need::required),
    window_flags<5>,
    {.name = "attention.shared_kv_layers", .fields = "num_kv_shared_layers", .symbol = "Sk", .fallback = "15"},
    {.name = "embedding_length_per_layer_input",
     .fields = "hidden_size_per_layer_input",
     .symbol = "P",
     .fallback = "256",
     .loader_default = "256"},
    // Not a GGUF key: the number of rows in the table of per-layer embeddings. Higher token ids use the first row.
    {.name = "vocab_size_per_layer_input",
     .fields = "vocab_size_per_layer_input",
     .symbol = "Vp",
     .fallback = "V",
     .when = "0",
     .loader_default = "V"},
    {.name = "altup.num_inputs", .fields = "altup_num_inputs", .symbol = "A", .fallback = "4", .loader_default = "4"},
    {.name = "altup.active_idx", .fields = "altup_active_idx", .fallback = "0", .missing = Missing::assume},
    {.name = "final_logit_softcapping", .type = KeyType::f32, .fields = "final_logit_softcapping"},
};

constexpr std::string_view no_blocks = "not every kernel of llama.cpp multiplies quantised stacks of this kind";
constexpr Tensor first[] = {
    {"token_embd", "E,V", "model.embed_tokens"},
    {"per_layer_token_embd", "P*L,V",
     "[Vp<V] model.embed_tokens_per_layer{n:Vp -> n} + model.embed_tokens_per_layer{n:Vp -> repeat:V-Vp n=0} | "
     "[Vp>=V] model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "E,P*L", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "P", "model.per_layer_projection_norm"},
    {.name = "altup_proj", .ne = "E,E,A-1", .source = "model.altup_projections.#", .plain = no_blocks},
    {.name = "altup_unembd_proj", .ne = "E,E,A-1", .source = "model.altup_unembed_projections.#", .plain = no_blocks},
};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},
    {"attn_v", "E,K*D", "self_attn.v_proj"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"attn_q_norm", "D", "self_attn.q_norm"},
    {"attn_k_norm", "D", "self_attn.k_norm"},
    {"post_attention_norm", "E", "post_attention_layernorm"},
    {"ffn_norm", "E", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "E", "post_feedforward_layernorm"},
    {"inp_gate", "E,P", "per_layer_input_gate"},
    {"proj", "P,E", "per_layer_projection"},
    {"post_norm", "E", "post_per_layer_input_norm"},
    {.name = "altup_correct_coef", .ne = "A,A", .source = "altup.correction_coefs", .f32 = true},
    {"@altup_correct_scale.weight", "E", "altup.correct_output_scale"},
    {.name = "altup_predict_coef", .ne = "A,A*A", .source = "altup.prediction_coefs", .f32 = true},
    {"altup_router", "E,A", "altup.modality_router"},
    {"altup_router_norm", "E", "altup.router_norm"},
    {"laurel_l", "E,64", "laurel.linear_left"},
    {"laurel_r", "64,E", "laurel.linear_right"},
    {"laurel_post_norm", "E", "laurel.post_laurel_norm"},
};

constexpr Fixed fixed[] = {
    rotates_halves,
    sees_what_precedes,
    {"altup_num_inputs", "4", Severity::error, "llama.cpp has four streams"},
    {"altup_active_idx", "0", Severity::error, "llama.cpp takes the first stream"},
    {"altup_correct_scale", "true", Severity::error, "llama.cpp scales the corrected stream"},
    {"laurel_rank", "64", Severity::error, "llama.cpp has rank 64"},
    {"hidden_size_per_layer_input", "256", Severity::error, "llama.cpp has 256 features per layer"},
    {"final_logit_softcapping", "30", Severity::error, "llama.cpp caps logits at 30"},
};
constexpr Relation relations[] = {
    {"L-Sk", "20", "num_kv_shared_layers",
     "does not leave 20 layers with their own keys and values, which llama.cpp requires"},
};
// Checks the share of features that each layer cuts off: 0.95 in the first ten layers, then 0.
static Status check_sparsity(KeyWriter& out) {
  const auto found = out.config().field("activation_sparsity_pattern");
  json::Array pattern;
  if (!found) return {};
  bool is_right = found->get(pattern);  // a single number for all layers is always wrong
  for (std::size_t number = 0; is_right && number < pattern.size(); ++number) {
    double share = 0;
    is_right = pattern.at(number)->get(share) && share == (number < sparse_layers ? 0.95 : 0.0);
  }
  if (is_right) return {};
  return out.refuse("activation_sparsity_pattern",
                    "is not 0.95 in the first ten layers and 0 in the others, which is fixed in llama.cpp");
}
static Status check_local_scaling(KeyWriter& out) {
  if (!out.config().rope.scaling_local) return {};
  return out.refuse("rope_parameters.sliding_attention",
                    "scales the rope of sliding layers, which a GGUF cannot express");
}
static Status describe(ConfigWriter& out) {
  std::vector<double> sparsity;
  std::vector<u64> widths;
  for (u64 i = 0; i < out.size("L"); ++i) {
    sparsity.push_back(i < sparse_layers ? 0.95 : 0);
    widths.push_back(out.sizes().get("F", i));
  }
  out.set("activation_sparsity_pattern", hf::config_list(sparsity));
  out.set("intermediate_size", hf::config_list(widths));
  return {};
}
constexpr Member members[] = {
    {"attention_bias", "false"},
    {"altup_coef_clip", "120"},
    {"query_pre_attn_scalar", "256"},
    {"vocab_size_per_layer_input", "=V"},
};

constexpr Family gemma3n = {
    .name = "gemma3n",
    .gguf = "gemma3n",
    .classes = "Gemma3nForConditionalGeneration|Gemma3nForCausalLM",
    .model_types = "gemma3n|gemma3n_text",
    .about = "AltUp, LAuReL, embeddings of every layer, sparse activations; the text part",
    .activation = "gelu_pytorch_tanh",
    .activation_names = "gelu_pytorch_tanh",
    .tied_by_default = true,
    .hf_rope_theta = 1e6,
    .mlx_scales_rope = false,
    .keys = {sizes, rope_keys, own},
    .layer_tensors = {layer, gated_feed_forward},
    .first_tensors = first,
    .fixed = fixed,
    .relations = relations,
    .checks = {check_sparsity, check_local_scaling},
    .config = {.fields = "hidden_activation|rope_local_base_freq|layer_types",
               .members = members,
               .describe = describe,
               .text_model_type = "gemma3n_text",
               .mlx_text_prefix = "model.language_model."},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 5, .always = true},
              .cached_layers = 20,
              .layer_input_width = 256,
              .has_alternating_updates = true},
    .tokenizer = {.never_prefixes_space = true, .infills_by_text = true},
};
MU_FAMILY(gemma3n);

}  // namespace modelutils::arch::families::gemma3n
