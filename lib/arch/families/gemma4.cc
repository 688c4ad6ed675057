// Gemma 4: two head sizes, proportional rope in global layers, embeddings for every layer, keys and values shared by
// the last layers, experts beside the dense part.
#include <fmt/core.h>

#include <algorithm>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "arch/rope.h"

namespace modelutils::arch::families::gemma4 {

static bool is_sliding(const hf::Config& config, u64 layer) {
  const std::vector<std::string>& types = config.layer_types;
  if (layer < types.size()) return types[static_cast<std::size_t>(layer)] == "sliding_attention";
  return (layer + 1) % std::max<u64>(config.sliding_window_pattern.value_or(5), 1) != 0;
}
static std::vector<u64> sliding_layers(const hf::Config& config, const Sizes& sizes) {
  std::vector<u64> sliding;
  for (u64 layer = 0; layer < sizes.get("L"); ++layer) sliding.push_back(is_sliding(config, layer) ? 1 : 0);
  return sliding;
}
// Global layers may have another number of KV heads.
static std::vector<u64> kv_heads(const hf::Config& config, const Sizes& sizes) {
  const u64 local = config.count_field(hf::fields::kv_heads).value_or(1);
  const u64 global = config.bool_field("attention_k_eq_v").value_or(false)
                         ? config.u64_field("num_global_key_value_heads").value_or(local)
                         : local;
  std::vector<u64> heads;
  for (u64 layer = 0; layer < sizes.get("L"); ++layer) heads.push_back(is_sliding(config, layer) ? local : global);
  return heads;
}
// The layers that share keys and values may be twice as wide.
static std::vector<u64> widths(const hf::Config& config, const Sizes& sizes) {
  const u64 width = config.count_field(hf::fields::feed_forward).value_or(6144);
  const bool is_mlx = sizes.get("mlx") != 0;
  const u64 shared = config.u64_field("num_kv_shared_layers").value_or(is_mlx ? 20 : 0);
  const u64 layers = sizes.get("L");
  const bool doubles = config.bool_field("use_double_wide_mlp").value_or(is_mlx) && shared < layers;
  std::vector<u64> found;
  for (u64 layer = 0; layer < layers; ++layer) found.push_back(doubles && layer + shared >= layers ? 2 * width : width);
  return found;
}
static Status write_sliding_layers(KeyWriter& out, const Key& key) {
  const std::vector<u64> sliding = sliding_layers(out.config(), out.sizes());
  out.flags(key.name, std::vector<bool>(sliding.begin(), sliding.end()));
  return {};
}
static Status write_local_base(KeyWriter& out, const Key& key) {
  return out.real(key.name, out.config().rope.theta_local.value_or(10000));
}
// Proportional scaling is a tensor instead.
static Status write_scaling(KeyWriter& out, const Key& key) {
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  return scaling && scaling->type != "proportional" ? write_rope_scaling(out, key) : Status{};
}

static Status refuse_scaling(ConfigWriter& out, const Key& key) {
  const std::string_view type = out.text(key.name);
  if (type.empty() || type == "none") return {};
  return out.refuse(key.name, fmt::format("is '{}', which this family's config.json cannot express", type));
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "131072", .epsilon = "1e-6"});
  named(keys, "feed_forward_length").derive_layers = widths;
  named(keys, "attention.head_count_kv").derive_layers = kv_heads;
  named(keys, "attention.key_length") = {.name = "attention.key_length",
                                         .fields = "global_head_dim",
                                         .symbol = "D",
                                         .fallback = "512",
                                         .loader_default = "E/H"};
  return keys;
}();
constexpr auto rope = [] {
  auto keys = rope_keys;
  named(keys, "rope.freq_base_swa").write = write_local_base;
  named(keys, "rope.scaling.type").write = write_scaling;
  named(keys, "rope.scaling.type").read = refuse_scaling;
  return keys;
}();
constexpr Key own[] = {
    {.name = "attention.key_length_swa",
     .fields = "head_dim",
     .symbol = "Ds",
     .fallback = "256",
     .need = Need::required},
    {.name = "attention.value_length_swa", .fallback = "Ds", .missing = Missing::assume, .need = Need::required},
    {.name = "rope.dimension_count_swa", .fallback = "Ds", .missing = Missing::assume, .loader_default = "R"},
    sliding_window("512", Missing::assume, Need::required),
    {.name = "attention.sliding_window_pattern",
     .type = KeyType::flag_layers,
     .symbol = "W",
     .need = Need::required,
     .derive_layers = sliding_layers,
     .write = write_sliding_layers},
    {.name = "attention.shared_kv_layers",
     .fields = "num_kv_shared_layers",
     .symbol = "Sk",
     .fallback = "mlx*20",  // the defaults of the two classes
     .loader_default = "0"},
    {.name = "embedding_length_per_layer_input",
     .fields = "hidden_size_per_layer_input",
     .symbol = "P",
     .fallback = "0",  // tensors show any other
     .loader_default = "0"},
    {.name = "final_logit_softcapping",
     .type = KeyType::f32,
     .fields = "final_logit_softcapping",
     .fallback = "30",
     .missing = Missing::assume},
};
constexpr Key mixture[] = {
    {.name = "expert_count",
     .fields = "num_experts",
     .symbol = "X",
     .fallback = "0",
     .when = "X",
     .loader_default = "0"},
    {.name = "expert_used_count",
     .fields = "top_k_experts",
     .symbol = "U",
     .fallback = "0",
     .when = "X",
     .loader_default = "0"},
    {.name = "expert_feed_forward_length",
     .fields = "moe_intermediate_size|expert_intermediate_size",
     .symbol = "Fx",
     .when = "X",
     .loader_default = "0"},
};

constexpr std::string_view own_kv = "i+Sk<L";
constexpr std::string_view shared_kv = "i+Sk>=L";
constexpr Tensor first[] = {
    {"token_embd", "E,V", "model.embed_tokens"},
    {"@rope_freqs.weight", "D/2", "=proportional"},
    {.name = "per_layer_token_embd", .ne = "P*L,V", .source = "model.embed_tokens_per_layer", .when = "P"},
    {.name = "per_layer_model_proj", .ne = "E,P*L", .source = "model.per_layer_model_projection", .when = "P"},
    {.name = "per_layer_proj_norm", .ne = "P", .source = "model.per_layer_projection_norm", .when = "P"},
};
// In layers without attn_v the keys are also the values.
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*(W*Ds+!W*D)", "self_attn.q_proj"},
    {.name = "attn_k", .ne = "E,K*(W*Ds+!W*D)", .source = "self_attn.k_proj", .when = own_kv},
    {.name = "attn_v", .ne = "E,K*(W*Ds+!W*D)", .source = "self_attn.v_proj", .need = Need::optional},
    {.name = "attn_k",
     .ne = "E,K*(W*Ds+!W*D)",
     .source = "self_attn.k_proj",
     .need = Need::optional,
     .when = shared_kv},
    {"attn_output", "H*(W*Ds+!W*D),E", "self_attn.o_proj"},
    {"attn_q_norm", "W*Ds+!W*D", "self_attn.q_norm"},
    {.name = "attn_k_norm", .ne = "W*Ds+!W*D", .source = "self_attn.k_norm", .when = own_kv},
    {.name = "attn_k_norm", .ne = "W*Ds+!W*D", .source = "self_attn.k_norm", .need = Need::optional, .when = shared_kv},
    {"post_attention_norm", "E", "post_attention_layernorm"},
    {"@layer_output_scale.weight", "1", "layer_scalar"},
    {"ffn_norm", "E", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "E", "post_feedforward_layernorm"},
    {.name = "inp_gate", .ne = "E,P", .source = "per_layer_input_gate", .when = "P"},
    {.name = "proj", .ne = "P,E", .source = "per_layer_projection", .when = "P"},
    {.name = "post_norm", .ne = "E", .source = "post_per_layer_input_norm", .when = "P"},
};
// The loader does not use these marks, but they state which tensors a file has: global layers may lack attn_v ("Vo"),
// and third-party files fuse the experts' gate and up matrices ("G").
constexpr Mark marks[] = {{"Vo", "attn_v"}, {"G", "ffn_gate_up_exps"}};
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "router.proj", .when = "X", .f32 = true},
    {.name = "@ffn_gate_inp.scale", .ne = "E", .source = "router.scale", .when = "X"},
    {.name = "pre_ffw_norm_2", .ne = "E", .source = "pre_feedforward_layernorm_2", .when = "X"},
    {.name = "post_ffw_norm_1", .ne = "E", .source = "post_feedforward_layernorm_1", .when = "X"},
    {.name = "post_ffw_norm_2", .ne = "E", .source = "post_feedforward_layernorm_2", .when = "X"},
    {.name = "ffn_gate_exps",
     .ne = "E,Fx,X",
     .source = "experts.switch_glu.gate_proj | experts.gate_up_proj{X t:2 Fx -> X t=0 Fx}",
     .when = "X & !G",
     .stored = "[hf] X,2*Fx,E"},
    {.name = "ffn_up_exps",
     .ne = "E,Fx,X",
     .source = "experts.switch_glu.up_proj | experts.gate_up_proj{X t:2 Fx -> X t=1 Fx}",
     .when = "X & !G",
     .stored = "[hf] X,2*Fx,E"},
    {.name = "ffn_gate_up_exps",
     .ne = "E,2*Fx,X",
     .source =
         "[back & mlx] experts.switch_glu.gate_proj{X Fx -> X=# Fx} + experts.switch_glu.up_proj{X Fx -> X=# Fx} | "
         "[back & hf] experts.gate_up_proj{X t:2 Fx -> X t Fx}",
     .need = Need::optional,
     .when = "X",
     .stored = "[mlx] X,Fx,E | X,2*Fx,E"},
    {.name = "ffn_down_exps",
     .ne = "Fx,E,X",
     .source = "experts.switch_glu.down_proj | experts.down_proj",
     .when = "X"},
    {.name = "@ffn_down_exps.scale", .ne = "X", .source = "router.per_expert_scale", .when = "X"},
};

// The shared layers use the keys and values of the last layer before them that is global or sliding, respectively.
static Status check_sharing(KeyWriter& out) {
  const u64 own_layers = out.size("L") - std::min(out.size("L"), out.size("Sk"));
  if (out.size("Sk") == 0) return {};
  if (own_layers >= 2 && !is_sliding(out.config(), own_layers - 1) && is_sliding(out.config(), own_layers - 2))
    return {};
  return out.refuse("num_kv_shared_layers",
                    fmt::format("leaves {} layers with keys and values of their own; llama.cpp requires the last of "
                                "them to be global and the one before it to slide",
                                own_layers));
}
// Factors below the limit belong to rotated pairs. The others are so large that their pairs do not rotate.
static Status describe_rope(ConfigWriter& out) {
  constexpr float unrotated = 1e29f;
  constexpr std::string_view global = "rope_parameters.full_attention.";
  constexpr std::string_view local = "rope_parameters.sliding_attention.";
  const hf::ConfigValue theta = out.take("rope_theta").value_or(hf::ConfigValue());
  const hf::ConfigValue local_theta = out.take("rope_local_base_freq").value_or(hf::ConfigValue(10000.0));
  MU_ASSIGN(const auto factors, out.values("rope_freqs.weight"));
  std::size_t rotated = factors ? 0 : 1;
  while (factors && rotated < factors->size() && (*factors)[rotated] < unrotated) ++rotated;
  const auto is_first = [&](float one) { return one == factors->front(); };
  const bool is_uniform =
      !factors || std::all_of(factors->begin(), factors->begin() + static_cast<std::ptrdiff_t>(rotated), is_first);
  if (!is_uniform || (factors && factors->empty())) {
    return input_error("config-rope", "are factors that no proportional scaling produces",
                       at_tensor("rope_freqs.weight"));
  }
  out.set(fmt::format("{}rope_theta", global), theta);
  out.set(fmt::format("{}rope_type", global), factors ? "proportional" : "default");
  if (factors) {
    out.set(fmt::format("{}partial_rotary_factor", global),
            static_cast<double>(rotated) / static_cast<double>(factors->size()));
    if (rotated > 0 && factors->front() != 1) out.set(fmt::format("{}factor", global), factors->front());
  }
  out.set(fmt::format("{}rope_theta", local), local_theta);
  out.set(fmt::format("{}rope_type", local), "default");
  return {};
}
static Status describe(ConfigWriter& out) {
  const u64 layers = out.size("L");
  const u64 shared = out.size("Sk");
  std::vector<bool> slides;
  std::optional<u64> local_heads, global_heads;
  bool shares_values = false;
  for (u64 i = 0; i < layers; ++i) {
    const bool is_sliding = out.sizes().get("W", i) != 0;
    slides.push_back(is_sliding);
    (is_sliding ? local_heads : global_heads) = out.sizes().get("K", i);
    shares_values |= !is_sliding && i + shared < layers && !out.has_in_layer(i, "attn_v.weight");
  }
  out.set("layer_types", layer_types(slides));
  out.set("num_key_value_heads", local_heads ? *local_heads : global_heads.value_or(1));
  out.set("attention_k_eq_v", shares_values);
  if (shares_values && global_heads) {
    out.set("num_global_key_value_heads", *global_heads);
  } else {
    out.set("num_global_key_value_heads", nullptr);
  }
  const u64 width = out.sizes().get("F", 0);
  out.set("intermediate_size", width);
  out.set("use_double_wide_mlp", shared > 0 && layers > 0 && out.sizes().get("F", layers - 1) == 2 * width);
  if (out.size("X") == 0) {
    for (const std::string_view field : {"num_experts", "top_k_experts", "moe_intermediate_size"})
      out.set(field, nullptr);
  }
  return describe_rope(out);
}
constexpr Member members[] = {
    {"attention_bias", "false"},
    {"vocab_size_per_layer_input", "=V"},
    {"enable_moe_block", "true", "X"},
    {"enable_moe_block", "false", "!X"},
};

constexpr Family gemma4 = {
    .name = "gemma4",
    .gguf = "gemma4",
    .classes = "Gemma4ForConditionalGeneration|Gemma4ForCausalLM|Gemma4UnifiedForConditionalGeneration",
    .model_types = "gemma4|gemma4_text|gemma4_unified|gemma4_unified_text",
    .about = "two head sizes, embeddings of every layer, shared keys and values, experts next to a dense part",
    .activation = "gelu_pytorch_tanh",
    .activation_names = "gelu_pytorch_tanh",
    .tied_by_default = true,
    .class_has_defaults = true,
    .hf_rope_theta = 1e6,
    .loader_needs = "embedding_length_per_layer_input",
    .loads_without = "@layer_output_scale.weight|@ffn_down_exps.scale",
    .keys = {sizes, rope, own, mixture},
    .layer_tensors = {layer, gated_feed_forward, experts},
    .first_tensors = first,
    .renormalises_experts = true,
    .marks = marks,
    .fixed = {rotates_halves,
              sees_what_precedes,
              {"attention_bias", "false", Severity::error, "llama.cpp has no biases here"}},
    .checks = {check_sharing},
    .config = {.fields = "hidden_activation", .members = members, .describe = describe, .model_type = "gemma4_text"},
    .cache = {.windows = {.rule = Windows::Rule::list, .always = true},
              .shares_last_layers = true,
              .layer_input_has_key = true},
    .tokenizer = {.never_prefixes_space = true, .infills_by_text = true},
};
MU_FAMILY(gemma4);

}  // namespace modelutils::arch::families::gemma4
