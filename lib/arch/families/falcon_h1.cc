// Falcon-H1: Mamba 2 and attention in parallel in every layer. llama.cpp expects config.json's multipliers to be part
// of the tensors, as mlx-lm saves them.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::falcon_h1 {

static double number_or_one(const hf::Config& config, std::string_view field) {
  return config.number_field(field).value_or(1);
}
static double element_or_one(const hf::Config& config, std::string_view field, std::size_t index) {
  const auto found = config.field(field);
  json::Array list;
  double value = 1;
  if (!found || !found->get(list)) return value;
  const auto element = list.at(index);
  return element && element->get(value) ? value : 1;
}

static double multiplier(const hf::Config& config, std::string_view name) {
  const double attention = number_or_one(config, "attention_in_multiplier");
  const double embedding = number_or_one(config, "embedding_multiplier");
  const double ssm = number_or_one(config, "ssm_in_multiplier");
  if (name == "embedding") return embedding;
  if (name == "head") return number_or_one(config, "lm_head_multiplier");
  // A tied head includes the embedding's multiplier, so the last norm divides by it.
  if (name == "tied") return embedding != 0 ? number_or_one(config, "lm_head_multiplier") / embedding : 1;
  if (name == "attention") return attention;
  if (name == "key") return attention * number_or_one(config, "key_multiplier");
  if (name == "attention_out") return number_or_one(config, "attention_out_multiplier");
  if (name == "ssm_out") return number_or_one(config, "ssm_out_multiplier");
  if (name == "gate") return element_or_one(config, "mlp_multipliers", 0);
  if (name == "down") return element_or_one(config, "mlp_multipliers", 1);
  if (name == "ssm_z") return ssm * element_or_one(config, "ssm_multipliers", 0);
  if (name == "ssm_x") return ssm * element_or_one(config, "ssm_multipliers", 1);
  if (name == "ssm_b") return ssm * element_or_one(config, "ssm_multipliers", 2);
  if (name == "ssm_c") return ssm * element_or_one(config, "ssm_multipliers", 3);
  return ssm * element_or_one(config, "ssm_multipliers", 4);  // "ssm_dt"
}

constexpr auto sizes = decoder_sizes({.context = "131072", .epsilon = "1e-5"});
constexpr auto ssm_sizes = [] {
  auto keys = mamba_keys;
  named(keys, "ssm.inner_size").fields = "mamba_d_ssm";
  named(keys, "ssm.time_step_rank").fields = "mamba_n_heads";
  return keys;
}();

constexpr Tensor first[] = {{"token_embd", "E,V", "[mlx] model.embed_tokens | model.embed_tokens@times:embedding"}};
constexpr auto mamba_rows = [] {
  auto rows = called_mamba(mamba2_layer({}, Need::optional));
  named(rows, "ssm_in").source =
      "[mlx] mamba.in_proj | mamba.in_proj{r:2*I+2*Gs*S+Rt -> r[0:I]}@times:ssm_z + "
      "mamba.in_proj{r:2*I+2*Gs*S+Rt -> r[I:2*I]}@times:ssm_x + "
      "mamba.in_proj{r:2*I+2*Gs*S+Rt -> r[2*I:2*I+Gs*S]}@times:ssm_b + "
      "mamba.in_proj{r:2*I+2*Gs*S+Rt -> r[2*I+Gs*S:2*I+2*Gs*S]}@times:ssm_c + "
      "mamba.in_proj{r:2*I+2*Gs*S+Rt -> r[2*I+2*Gs*S:2*I+2*Gs*S+Rt]}@times:ssm_dt";
  named(rows, "ssm_out").source = "[mlx] mamba.out_proj | mamba.out_proj@times:ssm_out";
  return rows;
}();
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "[mlx] self_attn.q_proj | self_attn.q_proj@times:attention"},
    {"attn_k", "E,K*D", "[mlx] self_attn.k_proj | self_attn.k_proj@times:key"},
    {"attn_v", "E,K*D", "[mlx] self_attn.v_proj | self_attn.v_proj@times:attention"},
    {"attn_output", "H*D,E", "[mlx] self_attn.o_proj | self_attn.o_proj@times:attention_out"},
    {"@ffn_norm", "E", "pre_ff_layernorm.weight"},
    {"ffn_gate", "E,F", "[mlx] feed_forward.gate_proj | feed_forward.gate_proj@times:gate"},
    {"ffn_up", "E,F", "feed_forward.up_proj"},
    {"ffn_down", "F,E", "[mlx] feed_forward.down_proj | feed_forward.down_proj@times:down"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "[head] model.final_layernorm | model.final_layernorm@times:tied"},
    {"output", "E,V", "[mlx] lm_head | lm_head@times:head"},
};
constexpr std::string_view no_place = "llama.cpp ignores it for this architecture";
constexpr Fixed fixed[] = {
    rotates_halves,
    {"attention_bias", "false", Severity::error, no_place},
    {"mamba_proj_bias", "false", Severity::error, no_place},
    {"projectors_bias", "false", Severity::error, no_place},
    {"mlp_bias", "false", Severity::error, no_place},
    {"mamba_conv_bias", "true", Severity::error, "llama.cpp needs the bias of the convolution"},
};

static Status check_norm(KeyWriter& out) {
  const hf::Config& config = out.config();
  if (!config.bool_field("mamba_rms_norm").value_or(false)) return {};
  if (config.bool_field("mamba_norm_before_gate").value_or(!out.is_mlx())) {
    return out.refuse("mamba_norm_before_gate", "is true; llama.cpp normalises after the gate");
  }
  return warn_of_groups(out);
}
// The multipliers are already part of the tensors.
static Status describe(ConfigWriter& out) {
  for (const std::string_view field :
       {"attention_in_multiplier", "attention_out_multiplier", "embedding_multiplier", "key_multiplier",
        "lm_head_multiplier", "ssm_in_multiplier", "ssm_out_multiplier"}) {
    out.set(field, 1.0);
  }
  out.set("mlp_multipliers", hf::config_list(std::vector<double>(2, 1)));
  out.set("ssm_multipliers", hf::config_list(std::vector<double>(5, 1)));
  return {};
}
constexpr Member members[] = {
    {"mamba_d_head", "=I/Rt"},           {"mamba_expand", "=I/E"},  {"mamba_rms_norm", "@ssm_norm.weight"},
    {"mamba_norm_before_gate", "false"}, {"mamba_use_mlp", "true"},
};

constexpr Family falcon_h1 = {
    .name = "falcon_h1",
    .gguf = "falcon-h1",
    .classes = "FalconH1ForCausalLM",
    .model_types = "falcon_h1",
    .about = "Mamba 2 next to attention in every layer; the multipliers of config.json are applied to the tensors.",
    .tied_by_default = true,
    .class_has_defaults = true,
    .factor = multiplier,
    .hf_rope_theta = 100000,
    .mlx_rope_theta = 1e11,
    .loads_without = "ssm_conv1d.bias",
    .keys = {sizes, rope_keys, ssm_sizes, mamba2_groups},
    .layer_tensors = {mamba_rows, layer},
    .first_tensors = first,
    .last_tensors = last,
    .layout_signs = {{"mamba.conv1d", Telling::convolution}},
    .fixed = fixed,
    .checks = {check_norm},
    .config = {.fields = "mamba_d_conv|mamba_d_state|mamba_n_groups", .members = members, .describe = describe},
    .cache = {.recurrence = {.layers = Recurrence::Layers::all,
                             .state = Recurrence::State::convolution,
                             .keeps_keys = true}},
};
MU_FAMILY(falcon_h1);

}  // namespace modelutils::arch::families::falcon_h1
