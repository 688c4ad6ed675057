// Kimi Linear: delta attention with a recurrent state, and latent attention without rope in some layers.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::kimi_linear {

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
    [] {
      Key key = leading_dense;
      key.when = {};
      return key;
    }(),
    expert_width,
    shared_expert_count,
    expert_gating("2"),
    {.name = "expert_weights_scale",
     .type = KeyType::f32,
     .fields = "routed_scaling_factor",
     .fallback = "1",
     .missing = Missing::assume,
     .when = "X"},
};

// The number of groups used; llama.cpp's converter does not write the number of groups.
constexpr Key one_group[] = {named(expert_groups, "expert_group_used_count")};

constexpr std::string_view recurrent = "!K";
constexpr Tensor mixer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*(!K*Dk+(K>=1)*D)", "self_attn.q_proj"},
    {.name = "attn_k", .ne = "E,H*Dk", .source = "self_attn.k_proj", .when = recurrent},
    {.name = "attn_v", .ne = "E,H*Dk", .source = "self_attn.v_proj", .when = recurrent},
    {.name = "ssm_conv1d_q",
     .ne = "C,1,H*Dk",
     .source = "[hf] self_attn.q_conv1d | self_attn.q_conv.conv | self_attn.q_conv1d",
     .when = recurrent,
     .f32 = true,
     .stored = "[mlx] H*Dk,C,1 | H*Dk,1,C"},
    {.name = "ssm_conv1d_k",
     .ne = "C,1,H*Dk",
     .source = "[hf] self_attn.k_conv1d | self_attn.k_conv.conv | self_attn.k_conv1d",
     .when = recurrent,
     .f32 = true,
     .stored = "[mlx] H*Dk,C,1 | H*Dk,1,C"},
    {.name = "ssm_conv1d_v",
     .ne = "C,1,H*Dk",
     .source = "[hf] self_attn.v_conv1d | self_attn.v_conv.conv | self_attn.v_conv1d",
     .when = recurrent,
     .f32 = true,
     .stored = "[mlx] H*Dk,C,1 | H*Dk,1,C"},
    {.name = "ssm_f_a", .ne = "E,Dk", .source = "self_attn.f_a_proj", .when = recurrent},
    {.name = "ssm_f_b", .ne = "Dk,H*Dk", .source = "self_attn.f_b_proj", .when = recurrent},
    {.name = "ssm_beta", .ne = "E,H", .source = "self_attn.b_proj", .when = recurrent},
    {.name = "@ssm_a",
     .ne = "1,H",
     .source = "self_attn.A_log@neg_exp",
     .when = recurrent,
     .f32 = true,
     .stored = "1,1,H,1"},
    {.name = "@ssm_dt.bias", .ne = "H*Dk", .source = "self_attn.dt_bias", .when = recurrent},
    {.name = "ssm_g_a", .ne = "E,Dk", .source = "self_attn.g_a_proj", .when = recurrent},
    {.name = "ssm_g_b", .ne = "Dk,H*Dk", .source = "self_attn.g_b_proj", .when = recurrent},
    {.name = "ssm_norm", .ne = "Dk", .source = "self_attn.o_norm", .when = recurrent},
    {"attn_output", "H*(!K*Dk+(K>=1)*Dv),E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
constexpr auto latent = [] {
  std::array<Tensor, 4> rows = {named(mla_tensors, "attn_kv_a_mqa"), named(mla_tensors, "attn_kv_a_norm"),
                                named(mla_tensors, "attn_k_b"), named(mla_tensors, "attn_v_b")};
  for (Tensor& row : rows) row.when = "K";
  return rows;
}();
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.gate", .when = expert_layers, .f32 = true},
    {.name = "ffn_gate_exps", .ne = "E,Fx,X", .source = "block_sparse_moe.experts.#.w1", .when = expert_layers},
    {.name = "ffn_up_exps", .ne = "E,Fx,X", .source = "block_sparse_moe.experts.#.w3", .when = expert_layers},
    {.name = "ffn_down_exps", .ne = "Fx,E,X", .source = "block_sparse_moe.experts.#.w2", .when = expert_layers},
    {.name = "@exp_probs_b.bias",
     .ne = "X",
     .source = "block_sparse_moe.gate.e_score_correction_bias",
     .when = expert_layers},
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

constexpr Fixed fixed[] = {
    {"moe_layer_freq", "1", Severity::error, "llama.cpp requires experts in every layer after the dense ones"},
    {"moe_renormalize", "true", Severity::warning, "llama.cpp computes as if it were true"},
    {"mla_use_nope", "true", Severity::error, "llama.cpp rotates no part of a head"},
    {"q_lora_rank", "0", Severity::error, "mlx-lm and llama.cpp expect queries without low rank"},
};
// The class does not renormalise the weight of a single expert, but llama.cpp makes it 1.
static Status check_mixture(KeyWriter& out) {
  const u64 heads = out.config().u64_field("linear_attn_config.num_heads").value_or(out.size("H"));
  if (heads != out.size("H")) {
    return out.refuse(
        "linear_attn_config.num_heads",
        fmt::format("is {}, but attention has {} heads; llama.cpp has a single number for both", heads, out.size("H")));
  }
  const u64 groups = out.config().u64_field("num_expert_group").value_or(1);
  if (groups > 1) return out.refuse("num_expert_group", "is more than 1; llama.cpp chooses among all experts");
  if (out.size("X") > 0 && out.size("U") == 1) {
    out.warn("num_experts_per_token", "is 1; llama.cpp gives a single expert the weight 1");
  }
  return {};
}
static Status describe(ConfigWriter& out) {
  std::vector<u64> delta;
  for (u64 i = 0; i < out.size("L"); ++i) {
    if (out.sizes().get("K", i) == 0) delta.push_back(i + 1);
  }
  out.set("linear_attn_config.full_attn_layers", layers_with_heads(out, 1));
  out.set("linear_attn_config.kda_layers", hf::config_list(delta));
  out.set("q_lora_rank", nullptr);
  return {};
}
constexpr Member members[] = {
    {"num_key_value_heads", "=H"}, {"qk_nope_head_dim", "=D-R"},
    {"head_dim", "=Dk"},           {"linear_attn_config.num_heads", "=H"},
    {"num_expert_group", "1"},     {"use_grouped_topk", "true"},
    {"rope_scaling", "null"},
};

constexpr Family kimi_linear = {
    .name = "kimi-linear",
    .gguf = "kimi-linear",
    .classes = "KimiLinearForCausalLM",
    .model_types = "kimi_linear",
    .about = "delta attention (KDA), in some layers latent attention without rope; experts scored by a sigmoid",
    .renames =
        "w1=gate_proj|w3=up_proj|w2=down_proj|experts.#.=switch_mlp.|block_sparse_moe.gate.e_score_correction_bias="
        "mlp.e_score_correction_bias|block_sparse_moe.=mlp.",
    .head = OutputHead::always,
    .loader_needs = "expert_feed_forward_length|expert_gating_func|attention.value_length_mla",
    .loads_without = "attention.key_length|ffn_gate_shexp|ffn_up_shexp|ffn_down_shexp",
    .keys = {sizes, own, expert_keys, one_group},
    .layer_tensors = {mixer, latent, leading_feed_forward, experts},
    .layout_signs = {{"self_attn.q_conv.conv", Telling::name_of_mlx}, {"self_attn.q_conv1d", Telling::published_name}},
    .renormalises_experts = true,
    .fixed = fixed,
    .checks = {check_mixture},
    .config = {.fields = "num_experts|num_experts_per_token|moe_router_activation_func|num_expert_group|num_shared_"
                         "experts|model_max_length",
               .members = members,
               .describe = describe},
    .cache = {.is_latent = true, .recurrence = {Recurrence::Layers::without_kv_heads, Recurrence::State::delta}},
    .tokenizer = {.pre_of_ranks = "kimi_linear=kimi-k2"},
};
MU_FAMILY(kimi_linear);

}  // namespace modelutils::arch::families::kimi_linear
