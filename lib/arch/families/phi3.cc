// Phi-3: Q, K and V in one matrix, gate and up in another; tensors of factors for long contexts.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::phi3 {

constexpr auto sizes = decoder_sizes();
constexpr auto rope = with_longrope(rope_keys_turning(partial_rotation));
// llama.cpp distinguishes Phi-4 from Phi-3 by a window of 0.
constexpr Key window[] = {sliding_window("0", Missing::assume)};
// Third-party files have queries, keys and values in separate tensors ("Q").
constexpr Mark marks[] = {{"Q", "attn_q", true}};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {.name = "attn_qkv", .ne = "E,H*D+2*K*D", .source = "self_attn.qkv_proj", .when = "!Q"},
    {.name = "attn_q", .ne = "E,H*D", .source = "[back] self_attn.qkv_proj{h:H+2*K D -> h[0:H] D}", .when = "Q"},
    {.name = "attn_k", .ne = "E,K*D", .source = "[back] self_attn.qkv_proj{h:H+2*K D -> h[H:H+K] D}", .when = "Q"},
    {.name = "attn_v", .ne = "E,K*D", .source = "[back] self_attn.qkv_proj{h:H+2*K D -> h[H+K:H+2*K] D}", .when = "Q"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm"},
    {"ffn_up", "E,2*F", "mlp.gate_up_proj"},
    {"ffn_down", "F,E", "mlp.down_proj"},
};
static Status describe(ConfigWriter& out) {
  if (out.count("attention.sliding_window").value_or(0) == 0) out.set("sliding_window", nullptr);
  return {};
}

constexpr Family phi3 = {
    .name = "phi3",
    .gguf = "phi3",
    .classes = "Phi3ForCausalLM|Phi4ForCausalLMV",
    .model_types = "phi3|phi4-siglip",
    .wanted_name = "Phi-3",
    .head = OutputHead::always,
    .loads_without = "output|attn_qkv",
    .keys = {sizes, rope, window},
    .layer_tensors = {layer},
    .first_tensors = embedding_and_longrope,
    .marks = marks,
    .fixed = {rotates_halves},
    .config = {.members = {{"attention_bias", "false"}}, .describe = describe},
};
MU_FAMILY(phi3);

}  // namespace modelutils::arch::families::phi3
