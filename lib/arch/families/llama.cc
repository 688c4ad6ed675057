// Llama, Mistral and their relatives: GGUFs rotate adjacent pairs, so the rows of Q and K are interleaved.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::llama {

constexpr auto sizes = decoder_sizes();
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
    {"mlp_bias", "@ffn_gate.bias"},
};

// InternLM 3 names the biases differently.
static Status describe(ConfigWriter& out) {
  const hf::ConfigValue* type = hf::find_member(out.members, "model_type");
  const auto* name = type == nullptr ? nullptr : std::get_if<std::string>(&type->value);
  if (name != nullptr && *name == "internlm3") {
    out.set("qkv_bias", out.has_in_layers("attn_q.bias"));
    out.set("bias", out.has_in_layers("attn_output.bias"));
  }
  return {};
}

// mlx-lm runs iquestcoder with its llama module; weights and names are the same. Every runtime treats InternLM 3 as a
// llama; its dynamic scaling has no effect within the stated context.
constexpr Family llama = {
    .name = "llama",
    .gguf = "llama",
    .classes =
        "LlamaForCausalLM|LlamaModel|LLaMAForCausalLM|MistralForCausalLM|IQuestCoderForCausalLM|InternLM3ForCausalLM",
    .model_types = "llama|mistral|iquestcoder|internlm3",
    .gguf_when = "!X",
    .applies_weight_scales = true,
    .keys = {sizes, rope_keys, expert_keys},
    .layer_tensors = {attention_of_pairs, gated_feed_forward_with_biases},
    .first_tensors = embedding_and_rope,
    .fixed = {{"partial_rotary_factor", "1", Severity::error, "in a GGUF a llama rotates the whole head"}},
    .checks = {warn_of_windows},
    .config = {.members = members, .describe = describe},
    .engine = {.rope_layout = "pairwise"},
    .tokenizer = {.pre_of_ranks = "llama=llama-bpe", .infill_vocabulary = 32016, .vocabulary_without_bos = 49152},
};
MU_FAMILY(llama);

}  // namespace modelutils::arch::families::llama
