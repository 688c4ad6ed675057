// Jamba: Mamba layers with norms of the time step, B and C, some attention layers without rope, experts in some layers.
#include <optional>
#include <utility>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::jamba {

static std::vector<u64> kv_heads(const hf::Config& config, const Sizes& sizes) {
  const u64 heads = config.count_field(hf::fields::kv_heads).value_or(0);
  const std::vector<std::string> kinds = kinds_of_layers(config, "layers_block_type");
  if (!kinds.empty()) return in_layers(kinds, {"attention"}, heads);
  const std::optional<u64> period = config.u64_field("attn_layer_period");
  const u64 offset = config.u64_field("attn_layer_offset").value_or(0);
  std::vector<u64> values;
  for (u64 layer = 0; period.value_or(0) > 0 && layer < sizes.get("L"); ++layer) {
    values.push_back(layer % *period == offset ? heads : 0);
  }
  return values;
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-6"});
  named(keys, "attention.head_count").type = KeyType::u32;  // the count in attention layers; other layers need none
  named(keys, "attention.head_count_kv").derive_layers = kv_heads;
  return keys;
}();
constexpr auto ssm_sizes = [] {
  auto keys = mamba_keys;
  named(keys, "ssm.time_step_rank").fields = "mamba_dt_rank";
  return keys;
}();

constexpr auto mamba_rows = called_mamba(mamba_layer("!K"));
constexpr Tensor part_norms[] = {
    {.name = "ssm_dt_norm", .ne = "Rt", .source = "mamba.dt_layernorm", .when = "!K"},
    {.name = "ssm_b_norm", .ne = "S", .source = "mamba.b_layernorm", .when = "!K"},
    {.name = "ssm_c_norm", .ne = "S", .source = "mamba.c_layernorm", .when = "!K"},
};
constexpr Tensor attention_rows[] = {
    {"attn_norm", "E", "input_layernorm"},
    {.name = "attn_q", .ne = "E,H*D", .source = "self_attn.q_proj", .when = "K"},
    {.name = "attn_k", .ne = "E,K*D", .source = "self_attn.k_proj", .when = "K"},
    {.name = "attn_v", .ne = "E,K*D", .source = "self_attn.v_proj", .when = "K"},
    {.name = "attn_output", .ne = "H*D,E", .source = "self_attn.o_proj", .when = "K"},
    {"ffn_norm", "E", "pre_ff_layernorm"},
};
// The loader recognises layers with experts by their router.
constexpr Mark marks[] = {{"M", "ffn_gate_inp"}};
constexpr Tensor feed_forward[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "feed_forward.router", .need = Need::optional, .f32 = true},
    {.name = "ffn_gate_exps", .ne = "E,F,X", .source = "feed_forward.experts.#.gate_proj", .when = "M"},
    {.name = "ffn_up_exps", .ne = "E,F,X", .source = "feed_forward.experts.#.up_proj", .when = "M"},
    {.name = "ffn_down_exps", .ne = "F,E,X", .source = "feed_forward.experts.#.down_proj", .when = "M"},
    {.name = "ffn_gate", .ne = "E,F", .source = "feed_forward.gate_proj", .when = "!M"},
    {.name = "ffn_up", .ne = "E,F", .source = "feed_forward.up_proj", .when = "!M"},
    {.name = "ffn_down", .ne = "F,E", .source = "feed_forward.down_proj", .when = "!M"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "model.final_layernorm"},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {
    {"mamba_proj_bias", "false", Severity::error, "llama.cpp does not support it for this architecture"},
    {"mamba_conv_bias", "true", Severity::error, "for this architecture llama.cpp needs the bias of the convolution"},
};

static Status warn_of_weights(KeyWriter& out) {
  if (out.is_mlx() && out.size("U") < out.size("X")) {
    out.warn("num_experts_per_tok",
             "is less than num_experts: mlx-lm normalises the selected experts' weights to sum 1, llama.cpp does not "
             "(nor does the published model)");
  }
  return {};
}
// Returns the period of the marked layers and their offset in it, or nullopt if they are not periodic.
static std::optional<std::pair<u64, u64>> period_of(const std::vector<bool>& marked) {
  for (u64 period = 1; period <= marked.size() + 1; ++period) {
    for (u64 offset = 0; offset < period; ++offset) {
      bool fits = true;
      for (u64 i = 0; fits && i < marked.size(); ++i) {
        fits = marked[static_cast<std::size_t>(i)] == (i % period == offset);
      }
      if (fits) return std::pair(period, offset);
    }
  }
  return std::nullopt;
}
static Status describe(ConfigWriter& out) {
  std::vector<bool> with_attention, with_experts;
  for (u64 i = 0; i < out.size("L"); ++i) {
    with_attention.push_back(out.sizes().get("K", i) > 0);
    with_experts.push_back(out.has_in_layer(i, "ffn_gate_inp.weight"));
  }
  const auto attention = period_of(with_attention);
  if (!attention) {
    return out.refuse("attention.head_count_kv",
                      "has attention layers without a period, which config.json cannot express");
  }
  out.set("attn_layer_period", attention->first);
  out.set("attn_layer_offset", attention->second);
  const bool has_experts = out.size("X") > 0;
  const auto experts = has_experts ? period_of(with_experts) : std::optional(std::pair<u64, u64>(2, 1));
  if (!experts)
    return out.refuse("expert_count", "has expert layers without a period, which config.json cannot express");
  out.set("expert_layer_period", experts->first);
  out.set("expert_layer_offset", experts->second);
  if (!has_experts) {
    out.set("num_experts", u64{1});
    out.set("num_experts_per_tok", u64{1});
  }
  return {};
}

constexpr Family jamba = {
    .name = "jamba",
    .gguf = "jamba",
    .classes = "JambaForCausalLM",
    .model_types = "jamba",
    .about = "Mamba layers and a few attention layers without rope; experts in some layers.",
    .renames = "experts.#.=switch_mlp.",
    .tied_by_default = true,
    .class_has_defaults = true,
    .layers_may_differ = true,
    .loader_needs = "attention.head_count_kv",
    .keys = {sizes, ssm_sizes, expert_keys},
    .layer_tensors = {attention_rows, mamba_rows, part_norms, feed_forward},
    .last_tensors = last,
    .layout_signs = {{"mamba.conv1d", Telling::convolution}},
    .marks = marks,
    .fixed = fixed,
    .relations = {doubles_width, whole_width},
    .checks = {warn_of_weights},
    .config = {.fields = "num_experts|mamba_d_conv|mamba_d_state",
               .members = {{"mamba_expand", "=I/E"}},
               .describe = describe},
    .cache = {.recurrence = {Recurrence::Layers::without_kv_heads, Recurrence::State::ungrouped_convolution}},
};
MU_FAMILY(jamba);

}  // namespace modelutils::arch::families::jamba
