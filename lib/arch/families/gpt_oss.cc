// gpt-oss: attention sinks, a sliding window in every other layer, experts with biases and a clamped SwiGLU.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::gpt_oss {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "131072"});
  named(keys, "feed_forward_length").symbol =
      "Fx";  // intermediate_size is the width of an expert; there is no dense part
  return keys;
}();
constexpr Key own[] = {
    {.name = "expert_feed_forward_length", .symbol = "Fx", .need = Need::required},
    sliding_window("128", Missing::warn, Need::required),
};
constexpr Tensor layer[] = {
    {"attn_q", "E,H*D", "self_attn.q_proj", Need::required, Need::required},
    {"attn_k", "E,K*D", "self_attn.k_proj", Need::required, Need::required},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::required},
    {"attn_output", "H*D,E", "self_attn.o_proj", Need::required, Need::required},
    {"@attn_sinks.weight", "H", "self_attn.sinks"},
    {"attn_norm", "E", "input_layernorm"},
    {"post_attention_norm", "E", "post_attention_layernorm"},
    {"ffn_gate_inp", "E,X", "mlp.router", Need::required, Need::required, {}, true},
};
// Hugging Face interleaves the rows of gate and up, either in MXFP4 blocks or transposed.
constexpr Tensor experts[] = {
    {.name = "ffn_gate_exps",
     .ne = "E,Fx,X",
     .source = "[hf] mlp.experts.gate_up_proj{{X E n:Fx t:2 -> X n t=0 E}} | mlp.experts.gate_proj | "
               "mlp.experts.gate_up_proj_blocks{X n:Fx t:2 -> X n t=0} | "
               "mlp.experts.gate_up_proj{{X E n:Fx t:2 -> X n t=0 E}}",
     .stored = "[hf] X,E,2*Fx"},
    {.name = "@ffn_gate_exps.bias",
     .ne = "Fx,X",
     .source = "[hf] mlp.experts.gate_up_proj_bias{{X n:Fx t:2 -> X n t=0}} | mlp.experts.gate_proj.bias | "
               "mlp.experts.gate_up_proj_bias{{X n:Fx t:2 -> X n t=0}}",
     .f32 = true,
     .stored = "[hf] X,2*Fx"},
    {.name = "ffn_up_exps",
     .ne = "E,Fx,X",
     .source = "[hf] mlp.experts.gate_up_proj{{X E n:Fx t:2 -> X n t=1 E}} | mlp.experts.up_proj | "
               "mlp.experts.gate_up_proj_blocks{X n:Fx t:2 -> X n t=1} | "
               "mlp.experts.gate_up_proj{{X E n:Fx t:2 -> X n t=1 E}}",
     .stored = "[hf] X,E,2*Fx"},
    {.name = "@ffn_up_exps.bias",
     .ne = "Fx,X",
     .source = "[hf] mlp.experts.gate_up_proj_bias{{X n:Fx t:2 -> X n t=1}} | mlp.experts.up_proj.bias | "
               "mlp.experts.gate_up_proj_bias{{X n:Fx t:2 -> X n t=1}}",
     .f32 = true,
     .stored = "[hf] X,2*Fx"},
    {.name = "ffn_down_exps",
     .ne = "Fx,E,X",
     .source = "[mlx] mlp.experts.down_proj | mlp.experts.down_proj{{X Fx E -> X E Fx}} | mlp.experts.down_proj_blocks",
     .stored = "[hf] X,Fx,E"},
    {.name = "@ffn_down_exps.bias",
     .ne = "E,X",
     .source = "[hf] mlp.experts.down_proj_bias | mlp.experts.down_proj.bias | mlp.experts.down_proj_bias",
     .f32 = true},
};
// Every other layer slides. yarn's limits are not rounded ("truncate" is false).
static Status describe(ConfigWriter& out) {
  MU_ASSIGN(const std::vector<bool> slides, sliding_layers(out));
  out.set("layer_types", layer_types(slides));
  if (out.has("rope_scaling.beta_fast")) out.assume("rope_scaling.truncate", false);
  return {};
}

constexpr Family gpt_oss = {
    .name = "gpt-oss",
    .gguf = "gpt-oss",
    .classes = "GptOssForCausalLM",
    .model_types = "gpt_oss",
    .head = OutputHead::always,
    .hf_rope_theta = 150000,
    .loads_without = "attn_q.bias|attn_k.bias|attn_v.bias",
    .keys = {sizes, rope_keys, expert_keys, own},
    .layer_tensors = {layer, experts},
    .layout_signs = {{"mlp.experts.gate_proj", Telling::name_of_mlx},
                     {"mlp.experts.gate_up_proj", Telling::published_name},
                     {"mlp.experts.gate_up_proj_blocks", Telling::published_name}},
    .renormalises_experts = true,
    .fixed = {rotates_halves, {"swiglu_limit", "7", Severity::warning, "llama.cpp clamps at 7"}},
    .checks = {check_period<2>},
    .config = {.fields = "layer_types",
               .members = {{"attention_bias", "true"}},
               .describe = describe,
               .only_mlx_names = true},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 2, .always = true}},
};
MU_FAMILY(gpt_oss);

}  // namespace modelutils::arch::families::gpt_oss
