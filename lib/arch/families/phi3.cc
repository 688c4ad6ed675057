// Phi-3: Q, K and V in one matrix, gate and up in another; long contexts by factor tensors.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/rope.h"

namespace modelutils::arch::families::phi3 {

namespace {

constexpr auto sizes = decoder_sizes();
constexpr auto rope = [] {
  auto keys = rope_keys;
  keys[0].derive = partial_rotation;
  keys[0].read = read_rotation;
  keys[3].write = write_phi3_rope_scaling;
  keys[3].read = read_phi3_rope_scaling;
  return keys;
}();
// 0 is what tells Phi-4 from Phi-3.
constexpr Key window[] = {
    {.name = "attention.sliding_window", .fields = "sliding_window", .fallback = "0", .missing = Missing::assume}};
constexpr Tensor first[] = {
    {"token_embd", "E,V", "model.embed_tokens"},
    {"@rope_factors_long.weight", "R/2", "=longrope-long", Need::optional},
    {"@rope_factors_short.weight", "R/2", "=longrope-short", Need::optional},
};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},        {"attn_qkv", "E,H*D+2*K*D", "self_attn.qkv_proj"},
    {"attn_output", "H*D,E", "self_attn.o_proj"}, {"ffn_norm", "E", "post_attention_layernorm"},
    {"ffn_up", "E,2*F", "mlp.gate_up_proj"},      {"ffn_down", "F,E", "mlp.down_proj"},
};
constexpr Fixed fixed[] = {rotates_halves};
Status describe(ConfigWriter& out) {
  if (out.count("attention.sliding_window").value_or(0) == 0) out.set("sliding_window", nullptr);
  return {};
}
constexpr Member members[] = {
    {"attention_bias", "false"},
};

}  // namespace

const Family phi3 = {
    .name = "phi3",
    .gguf = "phi3",
    .classes = "Phi3ForCausalLM",
    .model_types = "phi3",
    .wanted_name = "Phi-3",
    .head = OutputHead::always,
    .keys = {sizes, rope, window},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = norm_and_head,
    .fixed = fixed,
    .config = {.members = members, .describe = describe},
};

}  // namespace modelutils::arch::families::phi3
