// PLaMo 2: alternates Mamba layers with heads and attention layers with weighted norms of queries and keys; each kind
// of norm is stored with its own offset.
#include <algorithm>
#include <optional>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/layer_kinds.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::plamo2 {

// Returns the KV heads per layer. In every group of mamba_step layers, the middle one has attention.
static std::vector<u64> kv_heads(const hf::Config& config, const Sizes& sizes) {
  const u64 layers = sizes.get(symbol::layers);
  const u64 step = config.u64_field("mamba_step").value_or(2);
  const bool has_mamba = config.bool_field("mamba_enabled").value_or(true);
  const std::optional<u64> kv_heads = config.count_field(hf::fields::kv_heads);
  if (!kv_heads || (has_mamba && step < 2)) return {};
  std::vector<u64> heads(static_cast<std::size_t>(layers), 0);
  for (u64 layer = 0; layer < layers; ++layer) {
    const bool is_attention = !has_mamba || (layers <= step / 2 ? layer + 1 == layers : layer % step == step / 2);
    if (is_attention) heads[static_cast<std::size_t>(layer)] = *kv_heads;
  }
  return heads;
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "2048", .epsilon = "1e-6", .head_dim = "128"});
  named(keys, "attention.head_count").type = KeyType::u32_of_some;  // the counts in attention layers; other layers
  named(keys, "attention.head_count_kv").derive_layers = kv_heads;
  named(keys, "attention.key_length").fields = "hidden_size_per_head";
  return keys;
}();
constexpr auto ssm_sizes = [] {
  auto keys = mamba_keys;
  named(keys, "ssm.time_step_rank").fields = "mamba_num_heads";
  return keys;
}();
constexpr Key own[] = {
    named(rope_keys, "rope.dimension_count"),
    named(rope_keys, "rope.freq_base"),
    {.name = "ssm.group_count", .fallback = "0", .missing = Missing::assume, .need = Need::required},
};

constexpr Tensor norms[] = {
    {"attn_norm", "E", "pre_mixer_norm@add_one"},
    {"@post_attention_norm", "E", "post_mixer_norm.weight@add:0.2"},
    {"ffn_norm", "E", "pre_mlp_norm@add_one"},
    {"@post_ffw_norm", "E", "post_mlp_norm.weight@add:0.08944271909999159"},
    {"ffn_up", "E,2*F", "mlp.gate_up_proj"},
    {"ffn_down", "F,E", "mlp.down_proj"},
};
// The time step's rank is max(64, E / 16). The small matrices for time steps, B and C are exponentiated and summed over
// the whole text, so rounding them to blocks would cause the largest error of all.
constexpr std::string_view rounds_worst = "block types would round it, which would be the largest error of all";
constexpr Tensor mamba_rows[] = {
    {.name = "ssm_in", .ne = "E,2*I", .source = "mixer.in_proj", .when = "!K"},
    {.name = "ssm_conv1d",
     .ne = "Kc,I",
     .source = "mixer.conv1d",
     .when = "!K",
     .f32 = true,
     .stored = "[mlx] I,Kc,1 | I,1,Kc"},
    {.name = "ssm_x",
     .ne = "I,(E<1024)*64+(E>=1024)*(E/16)+2*S",
     .source = "mixer.bcdt_proj",
     .when = "!K",
     .plain = rounds_worst},
    {.name = "ssm_dt",
     .ne = "(E<1024)*64+(E>=1024)*(E/16),Rt",
     .source = "mixer.dt_proj",
     .when = "!K",
     .plain = rounds_worst},
    {.name = "@ssm_dt.bias", .ne = "Rt", .source = "mixer.dt_bias", .when = "!K"},
    {.name = "@ssm_a", .ne = "Rt", .source = "mixer.A_log@neg_exp", .when = "!K"},
    {.name = "@ssm_d", .ne = "Rt", .source = "mixer.D", .when = "!K"},
    {.name = "ssm_out", .ne = "I,E", .source = "mixer.out_proj", .when = "!K"},
    {.name = "@ssm_dt_norm", .ne = "(E<1024)*64+(E>=1024)*(E/16)", .source = "mixer.dt_norm_weight", .when = "!K"},
    {.name = "@ssm_b_norm", .ne = "S", .source = "mixer.B_norm_weight", .when = "!K"},
    {.name = "@ssm_c_norm", .ne = "S", .source = "mixer.C_norm_weight", .when = "!K"},
};
constexpr Tensor attention_rows[] = {
    {.name = "attn_qkv", .ne = "E,H*D+2*K*D", .source = "mixer.qkv_proj", .when = "K"},
    {.name = "@attn_q_norm.weight", .ne = "D,H", .source = "mixer.q_weight", .when = "K", .f32 = true},
    {.name = "@attn_k_norm.weight", .ne = "D,K", .source = "mixer.k_weight", .when = "K", .f32 = true},
    {.name = "attn_output", .ne = "H*D,E", .source = "mixer.o_proj", .when = "K"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "model.norm@add_one"},
    {"output", "E,V", "lm_head"},
};
// Returns the mamba_step for which exactly the layers with KV heads have attention, or nullopt.
static std::optional<u64> step_of(const Sizes& known) {
  const u64 layers = known.get(symbol::layers);
  for (u64 step = 2; step <= 2 * layers + 1; ++step) {
    bool fits = true;
    for (u64 i = 0; fits && i < layers; ++i) {
      const bool is_attention = layers <= step / 2 ? i + 1 == layers : i % step == step / 2;
      fits = is_attention == (known.get(symbol::kv_heads, i) > 0);
    }
    if (fits) return step;
  }
  return std::nullopt;
}
static Status describe(ConfigWriter& out) {
  const std::vector<u64>& heads = out.sizes().values(symbol::kv_heads);
  const bool has_mamba = std::find(heads.begin(), heads.end(), 0) != heads.end();
  const std::optional<u64> step = has_mamba ? step_of(out.sizes()) : 2;
  if (!step)
    return out.refuse("attention.head_count_kv",
                      "has attention layers without a period, which mamba_step cannot express");
  out.set("mamba_enabled", has_mamba);
  out.set("mamba_step", *step);
  return {};
}
constexpr Member members[] = {
    {"full_attention_idx", "[]"},
    {"attention_window_size", "2048"},
    {"mamba_chunk_size", "256"},
};

constexpr Family plamo2 = {
    .name = "plamo2",
    .gguf = "plamo2",
    .classes = "Plamo2ForCausalLM|PLaMo2ForCausalLM",
    .model_types = "plamo2",
    .about = "Mamba and attention layers take turns, norms have offsets of their own",
    .layer_prefixes = "model.layers.layers.",
    .tied_by_default = true,
    .class_has_defaults = true,
    .keys = {sizes, own, ssm_sizes},
    .layer_tensors = {norms, mamba_rows, attention_rows},
    .last_tensors = last,
    .layout_signs = {{"mixer.conv1d", Telling::convolution}},
    .config = {.fields = "mamba_d_conv|mamba_d_state", .members = members, .describe = describe},
    .cache = {.recurrence = {Recurrence::Layers::without_kv_heads, Recurrence::State::convolution}},
};
MU_FAMILY(plamo2);

}  // namespace modelutils::arch::families::plamo2
