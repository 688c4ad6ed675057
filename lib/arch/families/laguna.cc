// Laguna: query heads are gated, and their number differs between layers. Sliding layers have plain rope with their own
// base, global ones yarn over part of each head. Experts beside a shared one, after the dense layers.
#include <algorithm>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::laguna {

static std::vector<u64> heads(const hf::Config& config, const Sizes&) {
  return counts_of_layers(config, "num_attention_heads_per_layer");
}
static std::optional<u64> leading_dense_layers(const hf::Config& config, const Sizes&) {
  const std::vector<std::string> kinds = kinds_of_layers(config, "mlp_layer_types");
  const auto first = std::find(kinds.begin(), kinds.end(), "sparse");
  return kinds.empty() ? std::nullopt : std::optional(static_cast<u64>(first - kinds.begin()));
}
static std::optional<u64> rotated_when_sliding(const hf::Config& config, const Sizes& sizes) {
  const auto part = config.number_field("rope_parameters.sliding_attention.partial_rotary_factor");
  if (!part || !(*part > 0 && *part <= 1)) return std::nullopt;
  return static_cast<u64>(*part * static_cast<double>(sizes.get("D")));
}
static bool slides(const hf::Config& config) {
  const auto& types = config.layer_types;
  return std::find(types.begin(), types.end(), "sliding_attention") != types.end();
}
static Status write_window(KeyWriter& out, const Key& key) {
  if (!slides(out.config())) return {};
  return out.count(key.name, out.config().sliding_window.value_or(512));
}
static Status write_pattern(KeyWriter& out, const Key& key) {
  return slides(out.config()) ? write_window_flags(out, key) : Status{};
}
static Status write_rotated(KeyWriter& out, const Key& key) {
  return slides(out.config()) ? out.count(key.name, out.size("Rs")) : Status{};
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "262144", .epsilon = "1e-6", .head_dim = "128"});
  named(keys, "attention.head_count").derive_layers = heads;
  return keys;
}();
constexpr Key own[] = {
    {.name = "rope.dimension_count_swa",
     .symbol = "Rs",
     .fallback = "D",
     .loader_default = "R",
     .derive = rotated_when_sliding,
     .write = write_rotated},
    expert_width,
    {.name = "expert_shared_feed_forward_length",
     .fields = "shared_expert_intermediate_size",
     .symbol = "Fs",
     .loader_default = "Fx"},
    [] {
      Key key = leading_dense;
      key.derive = leading_dense_layers;
      key.fallback = "1";
      key.need = Need::required;
      return key;
    }(),
    expert_gating("2"),
    {.name = "expert_weights_scale",
     .type = KeyType::f32,
     .fields = "moe_routed_scaling_factor",
     .fallback = "1",
     .missing = Missing::assume},
    {.name = "expert_weights_norm", .type = KeyType::flag, .fallback = "true", .missing = Missing::assume},
    {.name = "attention.sliding_window", .fields = "sliding_window", .write = write_window},
    {.name = "attention.sliding_window_pattern",
     .type = KeyType::flag_layers,
     .write = write_pattern,
     .read = read_windows},
};

// The gate has one element per head, or one per element of each head.
constexpr Mark marks[] = {{"Gd", "attn_gate/H"}};
constexpr Tensor norms_and_gate[] = {
    named(qk_norms, "attn_q_norm"),
    named(qk_norms, "attn_k_norm"),
    {"attn_gate", "E,H*((Gd==D)*(D-1)+1)", "self_attn.g_proj"},
};
constexpr auto choice = choice_bias(
    "[hf] mlp.experts.e_score_correction_bias | mlp.gate.e_score_correction_bias | "
    "mlp.experts.e_score_correction_bias");
constexpr Tensor shared_expert[] = {
    {.name = "ffn_gate_shexp", .ne = "E,Fs", .source = "mlp.shared_expert.gate_proj", .when = expert_layers},
    {.name = "ffn_up_shexp", .ne = "E,Fs", .source = "mlp.shared_expert.up_proj", .when = expert_layers},
    {.name = "ffn_down_shexp", .ne = "Fs,E", .source = "mlp.shared_expert.down_proj", .when = expert_layers},
};

static Status check_kinds(KeyWriter& out) {
  const std::vector<std::string> kinds = kinds_of_layers(out.config(), "mlp_layer_types");
  const auto first = std::find(kinds.begin(), kinds.end(), "sparse");
  if (std::find(first, kinds.end(), "dense") != kinds.end()) {
    return out.refuse("mlp_layer_types",
                      "has dense layers after sparse ones; llama.cpp supports them only at the start");
  }
  if (!slides(out.config())) return {};
  if (out.config().rope.scaling_local) {
    return out.refuse("rope_parameters.sliding_attention",
                      "scales the rope of sliding layers, which llama.cpp never does");
  }
  return {};
}
static Status describe(ConfigWriter& out) {
  const std::vector<u64> heads_of_layers = out.sizes().values("H");
  if (heads_of_layers.size() > 1) out.set("num_attention_heads_per_layer", hf::config_list(heads_of_layers));
  std::vector<std::string_view> kinds;
  for (u64 i = 0; i < out.size("L"); ++i) kinds.push_back(i < out.size("Ld") ? "dense" : "sparse");
  out.set("mlp_layer_types", hf::config_list(kinds));
  const bool has_gates_of_elements = out.size("Gd") == out.size("D");
  out.set("gating", has_gates_of_elements ? hf::ConfigValue("per-element") : hf::ConfigValue(true));
  hf::ConfigValue scaling = out.take("rope_scaling").value_or(hf::ConfigMembers{{"rope_type", "default"}});
  out.set("rope_parameters.full_attention", std::move(scaling));
  const hf::ConfigValue theta = out.take("rope_theta").value_or(hf::ConfigValue());
  out.set("rope_parameters.full_attention.rope_theta", theta);
  if (auto part = out.take("partial_rotary_factor")) {
    out.set("rope_parameters.full_attention.partial_rotary_factor", std::move(*part));
  }
  if (out.count("attention.sliding_window").value_or(0) == 0) return {};
  const auto theta_of_sliding = out.real("rope.freq_base_swa");
  out.set("rope_parameters.sliding_attention.rope_type", "default");
  out.set("rope_parameters.sliding_attention.rope_theta",
          theta_of_sliding ? hf::ConfigValue(*theta_of_sliding) : theta);
  out.set("rope_parameters.sliding_attention.partial_rotary_factor",
          static_cast<double>(out.size("Rs")) / static_cast<double>(out.size("D")));
  return {};
}
constexpr Fixed fixed[] = {
    rotates_halves,
    {"attention_bias", "false", Severity::error, "llama.cpp has no bias of the output projection here"},
    {"moe_router_score_func", "sigmoid", Severity::error, "for this architecture llama.cpp requires a sigmoid"},
    {"moe_router_logit_softcapping", "0", Severity::error, "llama.cpp does not cap the router's logits"},
};
constexpr Member members[] = {
    {"qkv_bias", "@attn_q.bias"},
};

constexpr Family laguna = {
    .name = "laguna",
    .gguf = "laguna",
    .classes = "LagunaForCausalLM",
    .model_types = "laguna",
    .about = "gated heads whose number differs from layer to layer, plain rope in sliding layers, yarn in global ones",
    .loader_needs = "expert_feed_forward_length",
    .keys = {sizes, partial_rope_keys, expert_keys, own},
    .layer_tensors = {attention_maybe_with_biases, norms_and_gate, attention_output, leading_feed_forward,
                      experts_behind_dense, choice, shared_expert},
    .marks = marks,
    .fixed = fixed,
    .checks = {check_kinds},
    .config = {.fields = "num_experts|layer_types", .members = members, .describe = describe},
    .cache = {.windows = {.rule = Windows::Rule::number_or_list, .period = 4, .global_first = true}},
};
MU_FAMILY(laguna);

}  // namespace modelutils::arch::families::laguna
