// Mixtral: a llama with experts in every layer.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::mixtral {

constexpr auto sizes = decoder_sizes();
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.gate | mlp.gate", .f32 = true},
    {"ffn_gate_exps", "E,F,X",
     "block_sparse_moe.experts.#.w1 | "
     "mlp.experts.gate_up_proj{X t:2 F -> X t=0 F}"},
    {"ffn_up_exps", "E,F,X",
     "block_sparse_moe.experts.#.w3 | "
     "mlp.experts.gate_up_proj{X t:2 F -> X t=1 F}"},
    {"ffn_down_exps", "F,E,X",
     "block_sparse_moe.experts.#.w2 | mlp.experts.down_proj | "
     "block_sparse_moe.experts.down_proj"},
};
constexpr Fixed fixed[] = {
    {"partial_rotary_factor", "1", Severity::error, "in a GGUF a llama rotates the whole head"},
    experts_in_each,
    experts_in_all,
};

constexpr Family mixtral = {
    .name = "mixtral",
    .gguf = "llama",
    .classes = "MixtralForCausalLM",
    .model_types = "mixtral",
    .renames = mixtral_renames,
    .class_has_defaults = true,
    .hf_rope_theta = 1e6,
    .mlx_scales_rope = false,
    .loads_without = "ffn_gate_exps",
    .applies_weight_scales = true,
    .keys = {sizes, rope_keys, expert_keys},
    .layer_tensors = {attention_of_pairs, experts},
    .first_tensors = embedding_and_rope,
    .renormalises_experts = true,
    .fixed = fixed,
    .checks = {warn_of_windows},
    .tokenizer = {.vocabulary_without_bos = 49152},
};
MU_FAMILY(mixtral);

}  // namespace modelutils::arch::families::mixtral
