// Arcee (AFM): a llama without gate, with the square of ReLU.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::arcee {

constexpr auto sizes = decoder_sizes({.context = "4096", .epsilon = "1e-5"});
constexpr auto layer = [] {
  auto rows = attention_of_pairs;
  named(rows, "attn_output").bias = Need::absent;
  return rows;
}();
constexpr Tensor feed_forward[] = {
    {"ffn_up", "E,F", "mlp.up_proj"},
    {"ffn_down", "F,E", "mlp.down_proj"},
};

constexpr Family arcee = {
    .name = "arcee",
    .gguf = "arcee",
    .classes = "ArceeForCausalLM",
    .model_types = "arcee",
    .about = "no gate, the square of ReLU",
    .activation = "relu2",
    .activation_names = "relu2",
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer, feed_forward},
    .first_tensors = embedding_and_llama3,
    .fixed = {{"mlp_bias", "false", Severity::error, "llama.cpp has no biases in this feed-forward part"}},
    .config = {.members = {{"attention_bias", "@attn_q.bias"}, {"mlp_bias", "false"}}},
};
MU_FAMILY(arcee);

}  // namespace modelutils::arch::families::arcee
