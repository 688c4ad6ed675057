// Qwen2 and MiMo 7B: biases on Q, K and V.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::qwen2 {

constexpr auto sizes = decoder_sizes({.context = "32768"});
constexpr Member mimo_members[] = {
    {"attention_bias", "true"},
    {"num_nextn_predict_layers", "0"},
};

// Embedding models (gte-Qwen2) may see the whole text.
constexpr Key whole_text[] = {{.name = "attention.causal", .type = KeyType::flag, .fields = "is_causal"}};

constexpr Family qwen2 = {
    .name = "qwen2",
    .gguf = "qwen2",
    .classes = "Qwen2ForCausalLM|Qwen2Model|DotsOCRForCausalLM",
    .model_types = "qwen2",
    .mlx_rope_theta = 1e6,
    .loads_without = "attn_q.bias|attn_k.bias|attn_v.bias",
    .keys = {sizes, rope_keys, whole_text},
    .layer_tensors = {attention_with_biases, attention_output, gated_feed_forward},
    .fixed = {rotates_halves},
    .relations = {whole_width},
    .checks = {warn_of_windows},
    .config = {.members = {{"use_sliding_window", "false"}}},
    .engine = {.rope_layout = "split"},
    .tokenizer = {.pre_of_merges = "qwen2=qwen2", .composes = true},
};
MU_FAMILY(qwen2);

// MiMo 7B is a Qwen2 whose layers for multi-token prediction are not converted.
constexpr Family mimo = {
    .name = "mimo",
    .gguf = "qwen2",
    .classes = "MiMoForCausalLM",
    .model_types = "mimo",
    .about = "a qwen2; multi-token prediction is left out",
    .loads_without = "attn_q.bias|attn_k.bias|attn_v.bias",
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention_with_biases, attention_output, gated_feed_forward},
    .fixed = {rotates_halves},
    .relations = {whole_width},
    .checks = {warn_of_windows},
    .config = {.members = mimo_members},
    .tokenizer = {.composes = true},
};
MU_FAMILY(mimo);

}  // namespace modelutils::arch::families::qwen2
