// Llama, Mistral and their relatives: adjacent pairs are rotated in GGUF, so the rows of Q and K are interleaved.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::llama {

namespace {

constexpr auto sizes = decoder_sizes();

constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.gate | mlp.gate", .f32 = true},
    {"ffn_gate_exps", "E,F,X",
     "block_sparse_moe.switch_mlp.gate_proj | block_sparse_moe.experts.#.w1 | "
     "mlp.experts.gate_up_proj{X t:2 F -> X t=0 F}"},
    {"ffn_up_exps", "E,F,X",
     "block_sparse_moe.switch_mlp.up_proj | block_sparse_moe.experts.#.w3 | "
     "mlp.experts.gate_up_proj{X t:2 F -> X t=1 F}"},
    {"ffn_down_exps", "F,E,X",
     "block_sparse_moe.switch_mlp.down_proj | block_sparse_moe.experts.#.w2 | mlp.experts.down_proj | "
     "block_sparse_moe.experts.down_proj"},
};
constexpr Fixed whole_head[] = {
    {"partial_rotary_factor", "1", Severity::error, "in a GGUF a llama rotates the whole head"},
};
constexpr Fixed mixtral_fixed[] = {
    whole_head[0],
    {"decoder_sparse_step", "1", Severity::error, "llama.cpp requires experts in every layer"},
    {"mlp_only_layers", "[]", Severity::error, "llama.cpp requires experts in every layer"},
};
constexpr Check checks[] = {warn_of_windows};
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
    {"mlp_bias", "@ffn_gate.bias"},
};

// InternLM 3 has other names for the biases.
Status describe(ConfigWriter& out) {
  const hf::ConfigValue* type = hf::find_member(out.members, "model_type");
  const auto* name = type == nullptr ? nullptr : std::get_if<std::string>(&type->value);
  if (name != nullptr && *name == "internlm3") {
    out.set("qkv_bias", out.has_in_layers("attn_q.bias"));
    out.set("bias", out.has_in_layers("attn_output.bias"));
  }
  return {};
}

}  // namespace

// iquestcoder: mlx-lm runs this model type with its llama module; same weights, same names. InternLM 3 is a llama in
// every runtime; its dynamic scaling changes nothing up to the context that it states.
const Family llama = {
    .name = "llama",
    .gguf = "llama",
    .classes = "LlamaForCausalLM|LLaMAForCausalLM|MistralForCausalLM|IQuestCoderForCausalLM|InternLM3ForCausalLM",
    .model_types = "llama|mistral|iquestcoder|internlm3",
    .gguf_when = "!X",
    .keys = {sizes, rope_keys, expert_keys},
    .layer_tensors = {attention_of_pairs, gated_feed_forward_with_biases},
    .first_tensors = embedding_and_rope,
    .last_tensors = norm_and_head,
    .fixed = whole_head,
    .checks = checks,
    .config = {.members = members, .describe = describe},
    .engine = {.rope_layout = "pairwise"},
};

const Family mixtral = {
    .name = "mixtral",
    .gguf = "llama",
    .classes = "MixtralForCausalLM",
    .model_types = "mixtral",
    .class_has_defaults = true,
    .hf_rope_theta = 1e6,
    .mlx_rope_theta = 1e6,
    .mlx_scales_rope = false,
    .keys = {sizes, rope_keys, expert_keys},
    .layer_tensors = {attention_of_pairs, experts},
    .first_tensors = embedding_and_rope,
    .last_tensors = norm_and_head,
    .fixed = mixtral_fixed,
    .checks = checks,
};

}  // namespace modelutils::arch::families::llama
