// Phi 1, 1.5 and 2: one LayerNorm before attention and feed-forward, which run in parallel; biases everywhere,
// including the head.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::phi {

constexpr auto sizes = decoder_sizes({.context = "2048", .epsilon = "1e-5", .layer_norm = true});
// Without the field mlx-lm's class uses 0.4, Hugging Face's 0.5.
static std::optional<u64> rotation(const hf::Config& config, const Sizes& known) {
  if (config.partial_rotary_factor) return rotated_part_of_head(config, known);
  return known.get(symbol::head_dim) * (known.get("mlx") ? 4 : 5) / 10;
}
constexpr auto rope = rope_keys_turning(rotation);
constexpr Need must = Need::required;
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm", must, must},
    {"attn_q", "E,H*D", "self_attn.q_proj", must, must},
    {"attn_k", "E,K*D", "self_attn.k_proj", must, must},
    {"attn_v", "E,K*D", "self_attn.v_proj", must, must},
    {"attn_output", "H*D,E", "self_attn.dense", must, must},
    {"ffn_up", "E,F", "mlp.fc1", must, must},
    {"ffn_down", "F,E", "mlp.fc2", must, must},
};
constexpr Tensor ends[] = {
    {"output_norm", "E", "model.final_layernorm", must, must},
    {"output", "E,V", "lm_head", must, must},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"qk_layernorm", "false", Severity::error, "llama.cpp has no norms of queries and keys in this architecture"},
};

constexpr Family phi = {
    .name = "phi",
    .gguf = "phi2",
    .classes = "PhiForCausalLM",
    .model_types = "phi",
    .about = "attention and feed-forward side by side, biases everywhere, also of the head; partial rotation",
    .activation = "gelu_new",
    .activation_names = "gelu_new|gelu_pytorch_tanh|gelu_fast|gelu",
    .head = OutputHead::always,
    .mlx_scales_rope = false,
    .loads_without = "attn_q.bias|attn_k.bias|attn_v.bias",
    .keys = {sizes, rope},
    .layer_tensors = {layer},
    .last_tensors = ends,
    .fixed = fixed,
    .relations = {whole_width},
};
MU_FAMILY(phi);

}  // namespace modelutils::arch::families::phi
