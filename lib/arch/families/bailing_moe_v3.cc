// Ling 3: delta attention (KDA) with full-rank gates, in some layers latent attention with a gate for each head;
// experts in groups, scored by a sigmoid.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "arch/prediction_rows.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::bailing_moe_v3 {

// The last layer of each group has attention, and so have the layers that fill no group.
static std::vector<u64> heads_of_layers(const hf::Config& config, const Sizes& sizes) {
  const u64 group = config.u64_field("layer_group_size").value_or(0);
  if (group == 0) return {};
  const u64 layers = sizes.get(symbol::layers);
  std::vector<u64> heads;
  for (u64 i = 0; i < layers; ++i) heads.push_back((i + 1) % group == 0 || i >= layers / group * group ? 1 : 0);
  return heads;
}

constexpr auto sizes = [] {
  auto keys = mla_sizes(decoder_sizes({.context = "4096"}));
  named(keys, "attention.head_count").type = KeyType::u32;
  named(keys, "attention.head_count_kv") = {.name = "attention.head_count_kv",
                                            .type = KeyType::u32_or_layers,
                                            .symbol = "K",
                                            .derive_layers = heads_of_layers};
  return keys;
}();
static Status write_safe_gate(KeyWriter& out, const Key& key) {
  out.flag(key.name, true);
  return {};
}
constexpr auto weights = weights_of_experts("1", "true");
constexpr Key own[] = {
    named(mla_rope_keys, "rope.dimension_count"),
    named(mla_rope_keys, "rope.freq_base"),
    {.name = "ssm.conv_kernel",
     .fields = "short_conv_kernel_size",
     .symbol = "C",
     .fallback = "4",
     .need = Need::required},
    {.name = "kda.head_dim", .fields = "head_dim", .symbol = "Dk", .need = Need::required},
    {.name = "kda.safe_gate", .type = KeyType::flag, .write = write_safe_gate},
    {.name = "kda.gate_lower_bound",
     .type = KeyType::f32,
     .fields = "kda_lower_bound",
     .missing = Missing::refuse,
     .need = Need::required},
    [] {
      Key key = leading_dense;
      key.when = {};
      key.need = Need::required;
      return key;
    }(),
    expert_width,
    shared_expert_count,
    {.name = "expert_shared_feed_forward_length",
     .fields = "moe_shared_expert_intermediate_size",
     .symbol = "Fs",
     .fallback = "Fx",
     .when = "X",
     .loader_default = "Fx"},
    expert_gating("2"),
    named(weights, "expert_weights_scale"),
    named(weights, "expert_weights_norm"),
};
constexpr std::string_view recurrent = "!K";
constexpr std::array<Tensor, 1> convolution(std::string_view name, SourceText source) {
  return {{{.name = name, .ne = "C,1,H*Dk,1", .source = source, .when = recurrent, .f32 = true, .stored = "H*Dk,1,C"}}};
}
constexpr auto convolutions =
    joined(convolution("ssm_conv1d_q", "attention.q_conv1d"), convolution("ssm_conv1d_k", "attention.k_conv1d"),
           convolution("ssm_conv1d_v", "attention.v_conv1d"));
constexpr Tensor mixer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {.name = "attn_q", .ne = "E,H*(!K*Dk+(K>=1)*D)", .source = "attention.q_proj", .when = "!K | !Rq"},
    {.name = "attn_q_a", .ne = "E,Rq", .source = "attention.q_a_proj", .when = "K & Rq"},
    {.name = "attn_q_a_norm", .ne = "Rq", .source = "attention.q_a_layernorm", .when = "K & Rq"},
    {.name = "attn_q_b", .ne = "Rq,H*D", .source = "attention.q_b_proj", .when = "K & Rq"},
    {.name = "attn_k", .ne = "E,H*Dk", .source = "attention.k_proj", .when = recurrent},
    {.name = "attn_v", .ne = "E,H*Dk", .source = "attention.v_proj", .when = recurrent},
    {.name = "ssm_f_a", .ne = "E,H*Dk", .source = "attention.f_proj", .when = recurrent},
    {.name = "ssm_g_a", .ne = "E,H*Dk", .source = "attention.g_proj", .when = recurrent},
    {.name = "ssm_beta", .ne = "E,H", .source = "attention.b_proj", .when = recurrent},
    {.name = "@ssm_a", .ne = "1,H", .source = "attention.A_log@exp", .when = recurrent, .f32 = true, .stored = "H"},
    {.name = "@ssm_dt.bias", .ne = "H*Dk", .source = "attention.dt_bias", .when = recurrent},
    {.name = "ssm_norm", .ne = "Dk", .source = "attention.o_norm", .when = recurrent},
    {.name = "attn_gate", .ne = "E,H", .source = "attention.g_proj", .when = "K"},
    {.name = "attn_output", .ne = "H*Dk,E", .source = "attention.o_proj", .when = recurrent},
    {.name = "attn_output", .ne = "H*Dv,E", .source = "attention.dense", .when = "K"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
constexpr Tensor latent[] = {
    {.name = "attn_kv_a_mqa", .ne = "E,Rk+R", .source = "attention.kv_a_proj_with_mqa", .when = "K"},
    {.name = "attn_kv_a_norm", .ne = "Rk", .source = "attention.kv_a_layernorm", .when = "K"},
    {.name = "attn_k_b",
     .ne = "D-R,Rk,H",
     .source = "attention.kv_b_proj{{H s:D-R+Dv c:Rk -> H c s[0:D-R]}}",
     .when = "K",
     .stored = "H*(D-R+Dv),Rk"},
    {.name = "attn_v_b",
     .ne = "Rk,Dv,H",
     .source = "attention.kv_b_proj{H s:D-R+Dv -> H s[D-R:D-R+Dv]}",
     .when = "K",
     .plain = "shares a matrix with attn_k_b, which is transposed; F32 keeps both exact"},
};
constexpr auto experts = routed_experts(expert_layers);
constexpr auto choice = choice_bias("mlp.gate.expert_bias", Need::optional);
constexpr auto shared = [] {
  auto rows = deepseek_shared_experts;
  named(rows, "ffn_gate_shexp").ne = named(rows, "ffn_up_shexp").ne = "E,Fs*Ns";
  named(rows, "ffn_down_shexp").ne = "Fs*Ns,E";
  return rows;
}();
// A block is a layer with attention.
constexpr Tensor block[] = {
    named(nextn_tensors, "nextn.eh_proj"),
    named(nextn_tensors, "nextn.enorm"),
    named(nextn_tensors, "nextn.hnorm"),
    {"layer_output_norm", "E", "final_layernorm"},
};
constexpr Tensor first[] = {{"token_embd", "E,V", "model.word_embeddings"}};

constexpr Fixed fixed[] = {
    {"no_kda_lora", "true", Severity::error, "llama.cpp has full-rank gates in the delta attention"},
    {"kda_safe_gate", "true", Severity::error, "llama.cpp bounds the gates of the delta attention"},
    {"gated_attention_proj_granularity_type", "head_wise", Severity::error, "llama.cpp has one gate for each head"},
    {"score_function", "sigmoid", Severity::error, "this architecture scores experts by a sigmoid"},
    {"use_qkv_bias", "false", Severity::error, "llama.cpp has no biases here"},
};
// The class's defaults are the other variants, so config.json must state these.
static Status check_gates(KeyWriter& out) {
  for (const std::string_view field : {"no_kda_lora", "kda_safe_gate"}) {
    if (!out.config().bool_field(field).value_or(false)) {
      return out.refuse(field, "is not true, the only variant that llama.cpp computes");
    }
  }
  if (out.config().string_field("gated_attention_proj_granularity_type") == "head_wise") return {};
  return out.refuse("gated_attention_proj_granularity_type",
                    "is not head_wise, the only variant that llama.cpp computes");
}
static Status describe(ConfigWriter& out) {
  // The distance between the first two layers with attention is the size of a group.
  const u64 layers = out.size("L");
  u64 group = 0;
  while (group < layers && out.sizes().get("K", group) == 0) ++group;
  ++group;
  for (u64 i = 0; i < layers; ++i) {
    const bool has_attention = (i + 1) % group == 0 || i >= layers / group * group;
    if (has_attention != (out.sizes().get("K", i) != 0)) {
      return out.refuse("attention.head_count_kv", "is not periodic, but config.json has only a group size");
    }
  }
  out.set("layer_group_size", group);
  if (out.size("Rq") == 0) out.set("q_lora_rank", nullptr);
  return {};
}
constexpr Member members[] = {
    {"num_key_value_heads", "=H"}, {"qk_nope_head_dim", "=D-R"},      {"rope_scaling", "null"},
    {"use_qk_norm", "true"},       {"num_nextn_predict_layers", "0"},
};

constexpr Family bailing_moe_v3 = {
    .name = "bailingmoe3",
    .gguf = "bailingmoe3",
    .classes = "BailingMoeV3ForCausalLM",
    .model_types = "bailing_moe_v3",
    .about =
        "delta attention (KDA) with full-rank gates, in some layers latent attention gated by heads; experts in "
        "groups, scored by a sigmoid",
    .hf_rope_theta = 600000,
    .loader_needs = "expert_feed_forward_length|expert_gating_func|expert_shared_count",
    .keys = {sizes, own, expert_keys, expert_groups},
    .layer_tensors = {mixer, convolutions, latent, leading_feed_forward, experts, choice, shared},
    .first_tensors = first,
    .prediction = {.tensors = block, .runs = true, .sizes = "K=1"},
    .fixed = fixed,
    .relations = {{"KL", "Rk+R", {}, "without latent attention llama.cpp refuses this architecture"}},
    .checks = {check_gates},
    .config = {.fields = "num_experts|num_shared_experts|score_function|first_k_dense_replace",
               .members = members,
               .describe = describe},
    .cache = {.is_latent = true,
              .recurrence = {Recurrence::Layers::without_kv_heads, Recurrence::State::delta},
              .prediction = PredictionBlocks::cached,
              .may_lack_prediction = true},
};
MU_FAMILY(bailing_moe_v3);

}  // namespace modelutils::arch::families::bailing_moe_v3
