// Kimi K3: delta attention (KDA) with a full-rank gate, in some layers latent attention with an output gate, experts
// that work in a space of their own, and residual streams that later layers weigh by a score.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::kimi_k3 {

// The settings of the text part name Kimi Linear's class.
static bool is_of_k3(const hf::Config& config) {
  return config.field("attn_res_block_size") || config.field("activation_situ_beta") ||
         config.field("routed_expert_hidden_size");
}

// Returns one KV head for attention layers and none for recurrent ones. linear_attn_config counts layers from 1.
static std::vector<u64> heads_of_layers(const hf::Config& config, const Sizes& sizes) {
  std::vector<u64> heads(static_cast<std::size_t>(sizes.get(symbol::layers)), 0);
  const auto found = config.field("linear_attn_config.full_attn_layers");
  json::Array layers;
  if (!found || !found->get(layers)) return {};
  for (const json::Element one : layers) {
    uint64_t layer = 0;
    if (one.get(layer) && layer >= 1 && layer <= heads.size()) heads[static_cast<std::size_t>(layer - 1)] = 1;
  }
  return heads;
}

constexpr auto sizes = [] {
  auto keys = mla_sizes(decoder_sizes({.context = "1048576"}));
  named(keys, "attention.head_count").type = KeyType::u32;
  named(keys, "attention.head_count_kv") = {.name = "attention.head_count_kv",
                                            .type = KeyType::u32_or_layers,
                                            .symbol = "K",
                                            .derive_layers = heads_of_layers};
  return keys;
}();
constexpr Key own[] = {
    named(mla_rope_keys, "rope.dimension_count"),
    named(mla_rope_keys, "rope.freq_base"),  // written although nothing is rotated
    {.name = "ssm.conv_kernel",
     .fields = "linear_attn_config.short_conv_kernel_size",
     .symbol = "C",
     .fallback = "4",
     .need = Need::required},
    {.name = "kda.head_dim", .fields = "linear_attn_config.head_dim", .symbol = "Dk", .need = Need::required},
    {.name = "kda.gate_lower_bound", .type = KeyType::f32, .fields = "linear_attn_config.gate_lower_bound"},
    {.name = "activation.situ_beta",
     .type = KeyType::f32,
     .fields = "activation_situ_beta",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "activation.situ_linear_beta",
     .type = KeyType::f32,
     .fields = "activation_situ_linear_beta",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "attn_res.block_size",
     .fields = "attn_res_block_size",
     .missing = Missing::refuse,
     .need = Need::required},
};
constexpr auto weights = [] {
  auto keys = weights_of_experts("1", "true");
  named(keys, "expert_weights_norm").fields = "moe_renormalize";
  return keys;
}();
constexpr Key mixture[] = {
    [] {
      Key key = leading_dense;
      key.when = {};
      return key;
    }(),
    expert_width,
    shared_expert_count,
    expert_gating("2"),
    named(weights, "expert_weights_scale"),
    named(weights, "expert_weights_norm"),
    {.name = "expert_latent_length",
     .fields = "routed_expert_hidden_size",
     .symbol = "Z",
     .fallback = "0",
     .when = "Z",
     .loader_default = "0"},
};

constexpr std::string_view recurrent = "!K";
constexpr std::array<Tensor, 1> convolution(std::string_view name, SourceText source) {
  return {{{.name = name, .ne = "C,1,H*Dk,1", .source = source, .when = recurrent, .f32 = true, .stored = "H*Dk,1,C"}}};
}
constexpr auto convolutions =
    joined(convolution("ssm_conv1d_q", "self_attn.q_conv1d"), convolution("ssm_conv1d_k", "self_attn.k_conv1d"),
           convolution("ssm_conv1d_v", "self_attn.v_conv1d"));
constexpr Tensor mixer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {.name = "attn_q", .ne = "E,H*(!K*Dk+(K>=1)*D)", .source = "self_attn.q_proj", .when = "!K | !Rq"},
    {.name = "attn_q_a", .ne = "E,Rq", .source = "self_attn.q_a_proj", .when = "K & Rq"},
    {.name = "attn_q_a_norm", .ne = "Rq", .source = "self_attn.q_a_layernorm", .when = "K & Rq"},
    {.name = "attn_q_b", .ne = "Rq,H*D", .source = "self_attn.q_b_proj", .when = "K & Rq"},
    {.name = "attn_k", .ne = "E,H*Dk", .source = "self_attn.k_proj", .when = recurrent},
    {.name = "attn_v", .ne = "E,H*Dk", .source = "self_attn.v_proj", .when = recurrent},
    {.name = "ssm_f_a", .ne = "E,Dk", .source = "self_attn.f_a_proj", .when = recurrent},
    {.name = "ssm_f_b", .ne = "Dk,H*Dk", .source = "self_attn.f_b_proj", .when = recurrent},
    {.name = "ssm_beta", .ne = "E,H", .source = "self_attn.b_proj", .when = recurrent},
    {.name = "@ssm_a", .ne = "H", .source = "self_attn.A_log@neg_exp", .when = recurrent},
    {.name = "@ssm_dt.bias", .ne = "H*Dk", .source = "self_attn.dt_bias", .when = recurrent},
    {.name = "ssm_g", .ne = "E,H*Dk", .source = "self_attn.g_proj", .when = recurrent},
    {.name = "ssm_norm", .ne = "Dk", .source = "self_attn.o_norm", .when = recurrent},
    {.name = "attn_gate", .ne = "E,H*Dv", .source = "self_attn.g_proj", .when = "K"},
    {"attn_output", "H*(!K*Dk+(K>=1)*Dv),E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
// The score of a stream is its norm's weight times the projection, which the runtime has as one vector.
constexpr Tensor scores[] = {
    {.name = "attn_res_score",
     .ne = "E",
     .source = "self_attention_res_proj * self_attention_res_norm",
     .stored = "1,E"},
    {.name = "ffn_res_score", .ne = "E", .source = "mlp_res_proj * mlp_res_norm", .stored = "1,E"},
};
constexpr auto latent = [] {
  std::array<Tensor, 4> rows = {named(mla_tensors, "attn_kv_a_mqa"), named(mla_tensors, "attn_kv_a_norm"),
                                named(mla_tensors, "attn_k_b"), named(mla_tensors, "attn_v_b")};
  for (Tensor& row : rows) row.when = "K";
  named(rows, "attn_k_b").source = "self_attn.kv_b_proj{{H s:D-R+Dv c:Rk -> H c s[0:D-R]}}";
  named(rows, "attn_v_b").source = "self_attn.kv_b_proj{H s:D-R+Dv -> H s[D-R:D-R+Dv]}";
  named(rows, "attn_k_b").stored = "H*(D-R+Dv),Rk";
  named(rows, "attn_v_b").plain = "shares a matrix with attn_k_b, which is transposed; F32 keeps both exact";
  return rows;
}();
// Experts work on Z elements, or on the residual stream if Z is 0.
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.gate", .when = expert_layers, .f32 = true},
    {.name = "ffn_gate_exps", .ne = "!Z*E+Z,Fx,X", .source = "block_sparse_moe.experts.#.w1", .when = expert_layers},
    {.name = "ffn_up_exps", .ne = "!Z*E+Z,Fx,X", .source = "block_sparse_moe.experts.#.w3", .when = expert_layers},
    {.name = "ffn_down_exps", .ne = "Fx,!Z*E+Z,X", .source = "block_sparse_moe.experts.#.w2", .when = expert_layers},
    {.name = "@exp_probs_b.bias",
     .ne = "X",
     .source = "block_sparse_moe.gate.e_score_correction_bias",
     .when = expert_layers},
    {.name = "ffn_routed_down",
     .ne = "E,Z",
     .source = "block_sparse_moe.routed_expert_down_proj",
     .when = "Z & X & i>=Ld"},
    {.name = "ffn_routed_up", .ne = "Z,E", .source = "block_sparse_moe.routed_expert_up_proj", .when = "Z & X & i>=Ld"},
    {.name = "ffn_routed_norm", .ne = "Z", .source = "block_sparse_moe.routed_expert_norm", .when = "Z & X & i>=Ld"},
    {.name = "ffn_gate_shexp",
     .ne = "E,Fx*Ns",
     .source = "block_sparse_moe.shared_experts.gate_proj",
     .when = shared_expert_layers},
    {.name = "ffn_up_shexp",
     .ne = "E,Fx*Ns",
     .source = "block_sparse_moe.shared_experts.up_proj",
     .when = shared_expert_layers},
    {.name = "ffn_down_shexp",
     .ne = "Fx*Ns,E",
     .source = "block_sparse_moe.shared_experts.down_proj",
     .when = shared_expert_layers},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "model.norm"},
    {.name = "output_res_score",
     .ne = "E",
     .source = "model.output_attn_res_proj * model.output_attn_res_norm",
     .stored = "1,E"},
    {"output", "E,V", "lm_head"},
};

constexpr Fixed fixed[] = {
    {"moe_layer_freq", "1", Severity::error, "llama.cpp requires experts in every layer after the dense ones"},
    {"mla_use_nope", "true", Severity::error, "llama.cpp rotates no part of a head"},
    {"mla_use_output_gate", "true", Severity::error, "llama.cpp gates the output of every attention"},
};
static Status check_mixture(KeyWriter& out) {
  const u64 heads = out.config().u64_field("linear_attn_config.num_heads").value_or(out.size("H"));
  if (heads != out.size("H")) {
    return out.refuse(
        "linear_attn_config.num_heads",
        fmt::format("is {}, but attention has {} heads; llama.cpp has a single number for both", heads, out.size("H")));
  }
  const u64 groups = out.config().u64_field("num_expert_group").value_or(1);
  if (groups > 1) return out.refuse("num_expert_group", "is more than 1; llama.cpp chooses among all experts");
  return {};
}
static Status describe(ConfigWriter& out) {
  std::vector<u64> delta;
  for (u64 i = 0; i < out.size("L"); ++i) {
    if (out.sizes().get("K", i) == 0) delta.push_back(i + 1);
  }
  out.set("linear_attn_config.full_attn_layers", layers_with_heads(out, 1));
  out.set("linear_attn_config.kda_layers", hf::config_list(delta));
  if (out.size("Rq") == 0) out.set("q_lora_rank", nullptr);
  return {};
}
constexpr Member members[] = {
    {"num_key_value_heads", "=H"},          {"qk_nope_head_dim", "=D-R"}, {"head_dim", "=Dk"},
    {"linear_attn_config.num_heads", "=H"}, {"rope_scaling", "null"},
};

constexpr Family kimi_k3 = {
    .name = "kimi-k3",
    .gguf = "kimi-k3",
    .classes = "KimiK3ForConditionalGeneration|KimiK3ForCausalLM|KimiLinearForCausalLM",
    .model_types = "kimi_k3|kimi_linear",
    .about =
        "delta attention (KDA), in some layers latent attention without rope, both gated; experts in a space of "
        "their own; residual streams of blocks of layers weighed by a score",
    .fits = is_of_k3,
    .activation = "situ",
    .activation_names = "situ",
    .loader_needs = "expert_feed_forward_length|expert_gating_func|attention.value_length_mla",
    .keys = {sizes, own, expert_keys, mixture},
    .layer_tensors = {mixer, convolutions, scores, latent, leading_feed_forward, experts},
    .last_tensors = last,
    .fixed = fixed,
    .checks = {check_mixture},
    .config = {.fields = "num_experts|num_experts_per_token|moe_router_activation_func|num_shared_experts|model_max_"
                         "length",
               .members = members,
               .describe = describe,
               .text_model_type = "kimi_linear",
               .hf_text_prefix = "language_model.model."},
    .cache = {.is_latent = true, .recurrence = {Recurrence::Layers::without_kv_heads, Recurrence::State::delta}},
    .tokenizer = {.pre_of_ranks = "kimi_k3=kimi-k2"},
};
MU_FAMILY(kimi_k3);

}  // namespace modelutils::arch::families::kimi_k3
