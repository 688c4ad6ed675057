// Qwen3 and Qwen3-MoE: norms on queries and keys, no biases; experts without a shared one.
#include "arch/common_rows.h"
#include "arch/encoder_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::qwen3 {

constexpr auto sizes = decoder_sizes({.context = "32768"});
constexpr auto mixture_sizes = decoder_sizes({.context = "32768", .width = "Fx*U"});
constexpr Key mixture[] = {expert_width};
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
    {"use_sliding_window", "false"},
};

// A reranker has the rows of two tokens of its head as scores (convert/to_gguf/reranker.h).
static Status write_answers(KeyWriter& out, const Key& key) {
  if (out.size(key.symbol) == 2) out.texts(key.name, {answer_texts.begin(), answer_texts.end()});
  return {};
}
static Status read_nothing(ConfigWriter&, const Key&) {
  return {};
}
constexpr Key answers[] = {
    {.name = "classifier.output_labels",
     .type = KeyType::texts,
     .symbol = "N",
     .loader_default = "1",
     .write = write_answers,
     .read = read_nothing},
};
constexpr auto last = joined(norm_and_head, std::array<Tensor, 1>{{{"cls.output", "E,N", "", Need::optional}}});
// The class has one score; a softmax over one is always 1.
static Status refuse_score(KeyWriter& out) {
  if (!is_classifier(out.config())) return {};
  return out.refuse("architectures",
                    "is a classifier; llama.cpp's scores for this architecture are a softmax over the "
                    "rows, which is always 1 for a single one");
}

constexpr Family qwen3 = {
    .name = "qwen3",
    .gguf = "qwen3",
    .classes = "Qwen3ForCausalLM|Qwen3Model|Qwen3ForSequenceClassification",
    .model_types = "qwen3",
    .mlx_rope_theta = 1e6,
    .applies_weight_scales = true,
    .keys = {sizes, rope_keys, answers},
    .layer_tensors = {attention, qk_norms, attention_output, gated_feed_forward},
    .last_tensors = last,
    .fixed = {rotates_halves},
    .checks = {warn_of_windows, refuse_score},
    .config = {.members = members},
    .engine = {.rope_layout = "split", .has_qk_norms = true},
    .tokenizer = {.pre_of_merges = "qwen3=qwen2", .composes = true},
};
MU_FAMILY(qwen3);

constexpr Family qwen3moe = {
    .name = "qwen3moe",
    .gguf = "qwen3moe",
    .classes = "Qwen3MoeForCausalLM",
    .model_types = "qwen3_moe",
    .layers_may_differ = true,
    .mlx_rope_theta = 1e6,
    .mlx_scales_rope = false,
    .applies_weight_scales = true,
    .keys = {mixture_sizes, rope_keys, expert_keys, mixture},
    .layer_tensors = {attention, qk_norms, attention_output, qwen_experts},
    .renormalises_experts = true,
    .fixed = {rotates_halves, experts_in_each, experts_in_all, normalises_weights},
    .checks = {warn_of_windows},
    .config = {.fields = "num_experts", .members = members},
    .tokenizer = {.pre_of_merges = "qwen3_moe=qwen2", .composes = true},
};
MU_FAMILY(qwen3moe);

}  // namespace modelutils::arch::families::qwen3
