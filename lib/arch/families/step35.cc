// Step 3.5: sliding layers have their own head counts and rope, which rotates whole heads; other layers rotate half of
// each head. A gate per head, experts beside a shared one, activations clamped in the last layers.
#include <fmt/core.h>

#include <algorithm>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "arch/prediction_rows.h"
#include "arch/rope.h"

namespace modelutils::arch::families::step35 {

constexpr std::string_view sliding = "sliding_attention", full = "full_attention";

// Lists continue with the blocks that predict further tokens.
static std::vector<bool> sliding_of(const hf::Config& config, u64 layers) {
  std::vector<bool> slides;
  if (config.layer_types.size() < layers) return slides;
  for (std::size_t i = 0; i < layers; ++i) slides.push_back(config.layer_types[i] == sliding);
  return slides;
}
static std::vector<u64> by_kind(const hf::Config& config, const Sizes& sizes, std::string_view field) {
  const auto of_full = config.u64_field(field);
  const auto of_sliding = config.u64_field(fmt::format("attention_other_setting.{}", field));
  std::vector<u64> values;
  if (!of_full) return values;
  for (const bool slides : sliding_of(config, sizes.get(symbol::layers))) {
    values.push_back(slides ? of_sliding.value_or(*of_full) : *of_full);
  }
  return values;
}
static std::vector<u64> heads(const hf::Config& config, const Sizes& sizes) {
  return by_kind(config, sizes, "num_attention_heads");
}
static std::vector<u64> key_heads(const hf::Config& config, const Sizes& sizes) {
  return by_kind(config, sizes, "num_attention_groups");
}

static Status write_pattern(KeyWriter& out, const Key& key) {
  std::vector<bool> slides = sliding_of(out.config(), out.size("L"));
  if (slides.empty()) return out.refuse("layer_types", "does not have an entry for each layer");
  // Blocks missing from the list have full attention, as in llama.cpp's converter.
  const std::vector<std::string>& kinds = out.config().layer_types;
  for (u64 i = out.size("L"); i < out.size("L") + out.size("Lp"); ++i) {
    slides.push_back(i < kinds.size() && kinds[static_cast<std::size_t>(i)] == sliding);
  }
  out.flags(key.name, slides);
  return {};
}
static Status read_pattern(ConfigWriter& out, const Key&) {
  MU_ASSIGN(const std::vector<bool> slides, sliding_layers(out));
  std::vector<double> thetas, parts;
  const double theta = out.real("rope.freq_base").value_or(10000);
  for (std::size_t i = 0; i < slides.size(); ++i) {
    thetas.push_back(slides[i] ? out.real("rope.freq_base_swa").value_or(10000) : theta);
    parts.push_back(slides[i] ? 1 : 0.5);
    const std::string object = slides[i] ? "attention_other_setting." : "";
    out.set(object + "num_attention_heads", out.sizes().get("H", i));
    out.set(object + "num_attention_groups", out.sizes().get("K", i));
  }
  if (out.has("attention_other_setting")) out.set("attention_other_setting.attention_type", sliding);
  out.set("layer_types", layer_types(slides));
  out.set("rope_theta", hf::config_list(thetas));
  out.set("partial_rotary_factors", hf::config_list(parts));
  return {};
}
// Sliding layers without their own base use that of the others; the loader's default would be 10000.
static Status write_sliding_theta(KeyWriter& out, const Key& key) {
  const hf::Rope& rope = out.config().rope;
  return out.real(key.name, rope.theta_local.value_or(rope_theta(out.family(), out.config(), out.is_mlx())));
}
static Status read_nothing(ConfigWriter&, const Key&) {
  return {};
}
// Writes the limits to which activations are clamped, one number per layer; 0 or null means none.
static Status write_limits(KeyWriter& out, const Key& key) {
  const std::vector<double> stated = numbers_of_layers(out.config(), key.fields);
  if (stated.empty()) return {};
  std::vector<float> limits(stated.begin(), stated.end());
  limits.resize(static_cast<std::size_t>(out.size("L") + out.size("Lp")));
  out.reals(key.name, limits);
  return {};
}
static Status read_limits(ConfigWriter& out, const Key& key) {
  MU_ASSIGN(const std::vector<float> limits, out.reals(key.name));
  if (!limits.empty()) out.set(key.fields, hf::config_list(limits));
  return {};
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "262144", .epsilon = "1e-5"});
  named(keys, "attention.head_count").derive_layers = heads;
  named(keys, "attention.head_count_kv").derive_layers = key_heads;
  named(keys, "attention.head_count_kv").fields = "num_attention_groups";
  return keys;
}();
constexpr auto rope = [] {
  auto keys = rope_keys;
  named(keys, "rope.dimension_count").missing = Missing::assume;  // the loader halves it for layers that do not slide
  named(keys, "rope.freq_base").read = named(keys, "rope.freq_base_swa").read = read_nothing;
  named(keys, "rope.freq_base_swa").write = write_sliding_theta;
  return keys;
}();
constexpr Key own[] = {
    {.name = "expert_count", .fields = "moe_num_experts", .symbol = "X", .loader_default = "0"},
    {.name = "expert_used_count", .fields = "moe_top_k", .symbol = "U", .loader_default = "0"},
    expert_width,
    {.name = "expert_shared_feed_forward_length", .fields = "share_expert_dim", .symbol = "Fs", .loader_default = "0"},
    {.name = "expert_gating_func", .fallback = "2", .missing = Missing::assume, .loader_default = "2"},
    {.name = "expert_weights_scale",
     .type = KeyType::f32,
     .fields = "moe_router_scaling_factor",
     .fallback = "3",
     .missing = Missing::assume},
    {.name = "expert_weights_norm",
     .type = KeyType::flag,
     .fields = "norm_expert_weight",
     .fallback = "true",
     .missing = Missing::assume},
    sliding_window("512", Missing::assume, Need::required),
    {.name = "attention.sliding_window_pattern",
     .type = KeyType::flag_layers,
     .write = write_pattern,
     .read = read_pattern},
    {.name = "swiglu_clamp_exp",
     .type = KeyType::f32_or_layers,
     .fields = "swiglu_limits",
     .write = write_limits,
     .read = read_limits},
    {.name = "swiglu_clamp_shexp",
     .type = KeyType::f32_or_layers,
     .fields = "swiglu_limits_shared",
     .write = write_limits,
     .read = read_limits},
};

// Published norms are stored minus one.
constexpr Tensor first[] = {
    {"token_embd", "E,V", "model.embed_tokens"},
    {"@rope_freqs.weight", "D/2", "=llama3-half", Need::optional},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "[mlx] model.norm | model.norm@add_one"},
    {"output", "E,V", "lm_head"},
};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "[mlx] input_layernorm | input_layernorm@add_one"},
    {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},
    {"attn_v", "E,K*D", "self_attn.v_proj"},
    {"attn_q_norm", "D", "[mlx] self_attn.q_norm | self_attn.q_norm@add_one", Need::optional},
    {"attn_k_norm", "D", "[mlx] self_attn.k_norm | self_attn.k_norm@add_one", Need::optional},
    {"attn_gate", "E,H", "self_attn.g_proj", Need::optional},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "[mlx] post_attention_layernorm | post_attention_layernorm@add_one"},
};
// Layers with a router have experts.
constexpr Mark marks[] = {{"M", "ffn_gate_inp"}};
constexpr auto dense = feed_forward_of("!M");
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "moe.gate", .need = Need::optional, .f32 = true},
    {.name = "@exp_probs_b.bias", .ne = "X", .source = "moe.router_bias", .need = Need::optional, .when = "M"},
    {.name = "ffn_gate_exps", .ne = "E,Fx,X", .source = "moe.gate_proj", .when = "M"},
    {.name = "ffn_up_exps", .ne = "E,Fx,X", .source = "moe.up_proj", .when = "M"},
    {.name = "ffn_down_exps", .ne = "Fx,E,X", .source = "moe.down_proj", .when = "M"},
    {.name = "ffn_gate_shexp", .ne = "E,Fs", .source = "share_expert.gate_proj", .when = "M"},
    {.name = "ffn_up_shexp", .ne = "E,Fs", .source = "share_expert.up_proj", .when = "M"},
    {.name = "ffn_down_shexp", .ne = "Fs,E", .source = "share_expert.down_proj", .when = "M"},
};

constexpr auto block = [] {
  auto rows = zero_centred_nextn_tensors;
  named(rows, "nextn.shared_head_head").source = "shared_head.head | transformer.shared_head.output";
  named(rows, "nextn.shared_head_norm").source =
      "[mlx] shared_head.norm | [mlx] transformer.shared_head.norm | shared_head.norm@add_one | "
      "transformer.shared_head.norm@add_one";
  return rows;
}();

static Status check_rope(KeyWriter& out) {
  const hf::Config& config = out.config();
  const std::vector<bool> slides = sliding_of(config, out.size("L"));
  const std::vector<double> parts = numbers_of_layers(config, "partial_rotary_factors");
  const std::vector<double> thetas = numbers_of_layers(config, "rope_theta");
  for (std::size_t i = 0; i < slides.size(); ++i) {
    if (i >= parts.size() || parts[i] != (slides[i] ? 1 : 0.5)) {
      return out.refuse("partial_rotary_factors",
                        fmt::format("is not {} for layer {}; llama.cpp rotates whole heads in layers that slide and "
                                    "half of each in the others",
                                    slides[i] ? "1" : "0.5", i));
    }
    const auto& theta = slides[i] ? config.rope.theta_local : config.rope.theta;
    if (!thetas.empty() && (i >= thetas.size() || thetas[i] != theta)) {
      return out.refuse("rope_theta", "differs between layers of one kind; llama.cpp has one for each kind");
    }
  }
  if (!config.rope.scaling) return {};
  if (config.rope.scaling->type != "llama3" && config.rope.scaling->type != "linear") {
    return out.refuse("rope_scaling", "is neither llama3 nor linear, so llama.cpp would scale sliding layers, too");
  }
  if (kinds_of_layers(config, "yarn_only_types") == std::vector<std::string>{std::string(full)}) return {};
  return out.refuse("yarn_only_types", "is not full_attention alone; llama.cpp does not scale sliding layers");
}
static Status describe(ConfigWriter& out) {
  std::string mixed;
  for (u64 i = 0; i < out.size("L"); ++i) {
    if (out.has_in_layer(i, "ffn_gate_inp.weight")) mixed += fmt::format("{}{}", mixed.empty() ? "" : ",", i);
  }
  out.set("moe_layers_enum", mixed);
  if (out.has("rope_scaling")) out.set("yarn_only_types", hf::config_list(std::vector<std::string_view>{full}));
  return {};
}

constexpr Family step35 = {
    .name = "step35",
    .gguf = "step35",
    .classes = "Step3p5ForCausalLM|Step3p7ForConditionalGeneration",
    .model_types = "step3p5",
    .about =
        "sliding layers with heads and a rope of their own, half-rotated global ones, gated heads, clamped experts",
    .renames =
        "moe.gate=mlp.gate.gate|moe.router_bias=mlp.gate.router_bias|moe.=mlp.switch_mlp.|"
        "share_expert.=mlp.share_expert.",
    .head = OutputHead::always,
    .loader_needs = "expert_feed_forward_length|attention.sliding_window_pattern",
    .loads_without =
        "ffn_gate|ffn_up|ffn_down|ffn_gate_inp|ffn_gate_exps|ffn_up_exps|ffn_down_exps|ffn_gate_shexp|"
        "ffn_up_shexp|ffn_down_shexp",
    .keys = {sizes, rope, own},
    .layer_tensors = {layer, dense, experts},
    .first_tensors = first,
    .last_tensors = last,
    .prediction = {.tensors = block, .runs = true},
    .layout_signs = {{"mlp.switch_mlp.gate_proj", Telling::name_of_mlx}, {"moe.gate_proj", Telling::published_name}},
    .marks = marks,
    .fixed = {rotates_halves},
    .checks = {check_rope},
    .config = {.fields = "num_attention_groups|moe_num_experts|moe_top_k",
               .members = {{"use_head_wise_attn_gate", "@attn_gate.weight"}},
               .describe = describe},
    .cache = {.windows = {.rule = Windows::Rule::list, .always = true},
              .prediction = PredictionBlocks::loaded,
              .may_lack_prediction = true},
};
MU_FAMILY(step35);

}  // namespace modelutils::arch::families::step35
