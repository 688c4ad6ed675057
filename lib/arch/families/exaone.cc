// EXAONE 3 and 3.5: a llama with GPT-2's names.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::exaone {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.epsilon = "1e-5"});
  named(keys, "attention.layer_norm_rms_epsilon").fields = "layer_norm_epsilon|rms_norm_eps";
  return keys;
}();
constexpr Tensor first[] = {
    {"token_embd", "E,V", "transformer.wte"},
    named(embedding_and_llama3, "@rope_freqs.weight"),
};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "ln_1"},
    {"attn_q", "E,H*D", "attn.attention.q_proj"},
    {"attn_k", "E,K*D", "attn.attention.k_proj"},
    {"attn_v", "E,K*D", "attn.attention.v_proj"},
    {"attn_output", "H*D,E", "attn.attention.out_proj"},
    {"ffn_norm", "E", "ln_2"},
    {"ffn_gate", "E,F", "mlp.c_fc_0"},
    {"ffn_up", "E,F", "mlp.c_fc_1"},
    {"ffn_down", "F,E", "mlp.c_proj"},
};
constexpr Tensor ends[] = {
    {"output_norm", "E", "transformer.ln_f"},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"activation_function", "silu|swish", Severity::error, "llama.cpp computes silu"},
    rotates_whole_head,
};

constexpr Family exaone = {
    .name = "exaone",
    .gguf = "exaone",
    .classes = "ExaoneForCausalLM",
    .model_types = "exaone",
    .about = "a llama with other names, halves rotated",
    .layer_prefixes = "transformer.h.",
    .tied_by_default = true,
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = ends,
    .fixed = fixed,
    .config = {.fields = "num_layers|activation_function"},
};
MU_FAMILY(exaone);

}  // namespace modelutils::arch::families::exaone
