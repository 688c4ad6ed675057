// RWKV-7 in flash-linear-attention's form: time mixing with low-rank decays, learning rates and gates.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::rwkv7 {

constexpr auto sizes = [] {
  auto keys = recurrent_sizes;
  named(keys, "feed_forward_length") = {
      .name = "feed_forward_length", .fields = "intermediate_size", .symbol = "F", .need = Need::required};
  named(keys, "attention.layer_norm_rms_epsilon") = {.name = "attention.layer_norm_epsilon",
                                                     .type = KeyType::f32,
                                                     .fields = "norm_eps|layer_norm_epsilon",
                                                     .fallback = "1e-5",
                                                     .missing = Missing::assume,
                                                     .need = Need::required};
  return keys;
}();
constexpr Key own[] = {
    {.name = "wkv.head_size",
     .fields = "head_dim|head_size",
     .symbol = "Dk",
     .fallback = "64",
     .missing = Missing::assume,
     .need = Need::required},
    {.name = "attention.decay_lora_rank", .fields = "decay_low_rank_dim", .symbol = "Lw", .need = Need::required},
    {.name = "attention.iclr_lora_rank", .fields = "a_low_rank_dim", .symbol = "La", .need = Need::required},
    {.name = "attention.value_residual_mix_lora_rank",
     .fields = "v_low_rank_dim",
     .symbol = "Lv",
     .fallback = "La",
     .need = Need::required},
    {.name = "attention.gate_lora_rank", .fields = "gate_low_rank_dim", .symbol = "Lg", .need = Need::required},
};
constexpr Tensor first[] = {
    {"token_embd", "E,V", "model.embeddings"},
    {"token_embd_norm", "E", "model.layers.0.pre_norm", Need::required, Need::required},
};
// The first layer has no value residual. The loader still requires its tensors; the learning rate's have suitable
// shapes.
constexpr Tensor layer[] = {
    {"attn_norm", "E", "attn_norm", Need::required, Need::required},
    {"attn_norm_2", "E", "ffn_norm", Need::required, Need::required},
    {"@time_mix_w0.weight", "E", "attn.w_lora.lora.2.bias"},
    {"time_mix_w1", "E,Lw", "attn.w_lora.lora.0"},
    {"time_mix_w2", "Lw,E", "attn.w_lora.lora.2"},
    {"@time_mix_a0.weight", "E", "attn.a_lora.lora.2.bias"},
    {"time_mix_a1", "E,La", "attn.a_lora.lora.0"},
    {"time_mix_a2", "La,E", "attn.a_lora.lora.2"},
    {.name = "@time_mix_v0.weight", .ne = "E", .source = "[!back] attn.a_lora.lora.2.bias", .when = "i==0"},
    {.name = "time_mix_v1", .ne = "E,La", .source = "[!back] attn.a_lora.lora.0", .when = "i==0"},
    {.name = "time_mix_v2", .ne = "La,E", .source = "[!back] attn.a_lora.lora.2", .when = "i==0"},
    {.name = "@time_mix_v0.weight", .ne = "E", .source = "attn.v_lora.lora.2.bias", .when = "i!=0"},
    {.name = "time_mix_v1", .ne = "E,Lv", .source = "attn.v_lora.lora.0", .when = "i!=0"},
    {.name = "time_mix_v2", .ne = "Lv,E", .source = "attn.v_lora.lora.2", .when = "i!=0"},
    {"time_mix_g1", "E,Lg", "attn.g_lora.lora.0"},
    {"time_mix_g2", "Lg,E", "attn.g_lora.lora.2"},
    {.name = "@time_mix_lerp_fused.weight",
     .ne = "E,1,1,6",
     .source = "attn.x_r{{h:E/Dk Dk -> h Dk}} + attn.x_w{{h:E/Dk Dk -> h Dk}} + attn.x_k{{h:E/Dk Dk -> h Dk}} + "
               "attn.x_v{{h:E/Dk Dk -> h Dk}} + attn.x_a{{h:E/Dk Dk -> h Dk}} + attn.x_g{{h:E/Dk Dk -> h Dk}}",
     .f32 = true,
     .stored = "1,1,E"},
    {.name = "@time_mix_k_k.weight", .ne = "E", .source = "attn.k_k{h:E/Dk Dk -> h Dk}", .stored = "[mlx] E/Dk,Dk"},
    {.name = "@time_mix_k_a.weight", .ne = "E", .source = "attn.k_a{h:E/Dk Dk -> h Dk}", .stored = "[mlx] E/Dk,Dk"},
    {.name = "@time_mix_r_k.weight", .ne = "E", .source = "attn.r_k{h:E/Dk Dk -> h Dk}", .stored = "E/Dk,Dk"},
    {"time_mix_key", "E,E", "attn.k_proj"},
    {"time_mix_value", "E,E", "attn.v_proj"},
    {"time_mix_receptance", "E,E", "attn.r_proj"},
    {.name = "time_mix_ln",
     .ne = "E",
     .source = "attn.g_norm{h:E/Dk Dk -> h Dk}",
     .bias = Need::required,
     .stored = "[mlx] E/Dk,Dk"},
    {"time_mix_output", "E,E", "attn.o_proj"},
    {"@channel_mix_lerp_k.weight", "E", "ffn.x_k"},
    {"channel_mix_key", "E,F", "ffn.key"},
    {"channel_mix_value", "F,E", "ffn.value"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "model.norm", Need::required, Need::required},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {
    {"norm_first", "true", Severity::error, "for this architecture llama.cpp needs the norm before the first layer"},
    {"norm_bias", "true", Severity::error, "for this architecture llama.cpp needs the biases of the norms"},
};
static Status describe(ConfigWriter& out) {
  if (const auto context = out.count("context_length")) out.set("max_position_embeddings", *context);
  out.set("value_dim", hf::config_list(std::vector<u64>(static_cast<std::size_t>(out.size("L")), out.size("E"))));
  return {};
}

constexpr Family rwkv7 = {
    .name = "rwkv7",
    .gguf = "rwkv7",
    .classes = "RWKV7ForCausalLM|Rwkv7ForCausalLM",
    .model_types = "rwkv7",
    .about = "A recurrent state instead of attention; six interpolations with the token before are one tensor.",
    .activation = "sqrelu",
    .activation_names = "sqrelu|relu2",
    .head = OutputHead::always,
    .class_has_defaults = true,
    .loads_without = "attention.head_count|attention.layer_norm_epsilon",
    .keys = {sizes, own},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = fixed,
    .config = {.members = {{"num_heads", "=E/Dk"}, {"attn_mode", "chunk"}}, .describe = describe},
    .cache = {.recurrence = {Recurrence::Layers::all, Recurrence::State::token_shift}},
};
MU_FAMILY(rwkv7);

}  // namespace modelutils::arch::families::rwkv7
