// Granite 4 hybrids: Mamba 2 layers and a few attention layers; every layer has experts and a shared expert, or none
// has; four multipliers.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::granitemoehybrid {

static std::vector<u64> kv_heads(const hf::Config& config, const Sizes&) {
  return in_layers(config.layer_types, {"attention"}, config.count_field(hf::fields::kv_heads).value_or(0));
}

// llama.cpp uses rope.scaling.finetuned as the switch for rope. If config.json does not state it, mlx-lm uses rope.
static bool has_rope(const KeyWriter& out) {
  const auto stated = out.config().string_field("position_embedding_type");
  return stated ? *stated == "rope" : out.is_mlx();
}
static Status write_rope_switch(KeyWriter& out, const Key& key) {
  out.flag(key.name, has_rope(out));
  return {};
}
static Status write_hybrid_context(KeyWriter& out, const Key& key) {
  return has_rope(out) ? write_context(out, key) : out.count(key.name, u64{1} << 20);
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-6"});
  named(keys, "context_length").write = write_hybrid_context;
  named(keys, "attention.head_count").type = KeyType::u32;  // the count in attention layers; other layers need none
  named(keys, "attention.head_count_kv").derive_layers = kv_heads;
  return keys;
}();
constexpr auto ssm_sizes = [] {
  auto keys = mamba_keys;
  named(keys, "ssm.time_step_rank").fields = "mamba_n_heads";
  return keys;
}();
constexpr Key own[] = {
    named(rope_keys, "rope.dimension_count"),
    named(rope_keys, "rope.freq_base"),
    {.name = "rope.scaling.finetuned", .type = KeyType::flag, .write = write_rope_switch},
    {.name = "attention.scale", .type = KeyType::f32, .fields = "attention_multiplier"},
    {.name = "embedding_scale", .type = KeyType::f32, .fields = "embedding_multiplier"},
    {.name = "residual_scale", .type = KeyType::f32, .fields = "residual_multiplier"},
    {.name = "logit_scale", .type = KeyType::f32, .fields = "logits_scaling"},
    {.name = "expert_shared_feed_forward_length",
     .fields = "shared_intermediate_size",
     .symbol = "Fs",
     .when = "X",
     .loader_default = "0"},
};

constexpr auto mamba_rows = called_mamba(mamba2_layer("!K"));
constexpr Tensor attention_rows[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj{H t:2 j:D/2 -> H j t}", Need::required, Need::optional, "K"},
    {"attn_k", "E,K*D", "self_attn.k_proj{K t:2 j:D/2 -> K j t}", Need::required, Need::optional, "K"},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::optional, "K"},
    {"attn_output", "H*D,E", "self_attn.o_proj", Need::required, Need::optional, "K"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
// Without experts Hugging Face names the dense part "shared".
constexpr Tensor feed_forward[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.router.layer", .when = "X", .f32 = true},
    {.name = "ffn_gate_exps",
     .ne = "E,F,X",
     .source = "block_sparse_moe.switch_mlp.gate_proj | block_sparse_moe.input_linear{X t:2 F -> X t=0 F}",
     .when = "X",
     .stored = "[hf] X,2*F,E"},
    {.name = "ffn_up_exps",
     .ne = "E,F,X",
     .source = "block_sparse_moe.switch_mlp.up_proj | block_sparse_moe.input_linear{X t:2 F -> X t=1 F}",
     .when = "X",
     .stored = "[hf] X,2*F,E"},
    {.name = "ffn_down_exps",
     .ne = "F,E,X",
     .source = "block_sparse_moe.switch_mlp.down_proj | block_sparse_moe.output_linear",
     .when = "X"},
    {.name = "ffn_gate_shexp",
     .ne = "E,Fs",
     .source = "[X] shared_mlp.input_linear{t:2 Fs -> t=0 Fs}",
     .when = "X & Fs"},
    {.name = "ffn_up_shexp", .ne = "E,Fs", .source = "[X] shared_mlp.input_linear{t:2 Fs -> t=1 Fs}", .when = "X & Fs"},
    {.name = "ffn_down_shexp", .ne = "Fs,E", .source = "[X] shared_mlp.output_linear", .when = "X & Fs"},
    {"ffn_gate", "E,F", "mlp.gate_proj | [!X] shared_mlp.input_linear{t:2 F -> t=0 F}", Need::required, Need::optional,
     "!X"},
    {"ffn_up", "E,F", "mlp.up_proj | [!X] shared_mlp.input_linear{t:2 F -> t=1 F}", Need::required, Need::optional,
     "!X"},
    {"ffn_down", "F,E", "mlp.down_proj | [!X] shared_mlp.output_linear", Need::required, Need::optional, "!X"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"mamba_proj_bias", "false", Severity::error, "llama.cpp does not support it for this architecture"},
    {"mamba_conv_bias", "true", Severity::error, "llama.cpp needs the bias of the convolution"},
    {"normalization_function", "rmsnorm", Severity::error, "llama.cpp computes RMS norms"},
};
static Status describe(ConfigWriter& out) {
  out.set("layer_types", kinds_by_heads(out, "attention", "mamba"));
  out.set("position_embedding_type", out.flag("rope.scaling.finetuned").value_or(true) ? "rope" : "nope");
  return {};
}
constexpr Member members[] = {
    {"mamba_d_head", "=I/Rt"},   {"mamba_expand", "=I/E"},      {"attention_bias", "@attn_q.bias"},
    {"num_local_experts", "=X"}, {"num_experts_per_tok", "=U"}, {"shared_intermediate_size", "=F", "!X"},
};

constexpr Family granitemoehybrid = {
    .name = "granitemoehybrid",
    .gguf = "granitehybrid",
    .classes = "GraniteMoeHybridForCausalLM",
    .model_types = "granitemoehybrid",
    .about = "Mamba 2 layers and a few attention layers, mostly without rope; experts with a shared one, or none.",
    .tied_by_default = true,
    .class_has_defaults = true,
    .loads_without = "ffn_gate_exps|ssm_conv1d.bias",
    .keys = {sizes, ssm_sizes, mamba2_groups, expert_keys, own},
    .layer_tensors = {attention_rows, mamba_rows, feed_forward},
    .layout_signs = {{"mamba.conv1d", Telling::convolution}},
    .renormalises_experts = true,
    .fixed = fixed,
    .relations = {doubles_width},
    .checks = {warn_of_groups, warn_of_time_step_limit},
    .config = {.fields = "mamba_d_conv|mamba_d_state|mamba_n_groups", .members = members, .describe = describe},
    .cache = {.recurrence = {Recurrence::Layers::without_kv_heads, Recurrence::State::convolution}},
};
MU_FAMILY(granitemoehybrid);

}  // namespace modelutils::arch::families::granitemoehybrid
