// Nanbeige 4.2: a llama whose layers run several times, each time with keys and values of their own.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::nanbeige {

constexpr auto sizes = decoder_sizes({.context = "4096"});
constexpr Key loops[] = {
    {.name = "num_loops", .fields = "num_loops", .fallback = "1", .missing = Missing::assume},
    {.name = "skip_loop_final_norm",
     .type = KeyType::flag,
     .fields = "skip_loop_final_norm",
     .fallback = "false",
     .missing = Missing::assume},
};
constexpr auto layer = [] {
  auto rows = attention_of_pairs;
  named(rows, "attn_output").bias = Need::absent;
  return rows;
}();

constexpr Family nanbeige = {
    .name = "nanbeige",
    .gguf = "nanbeige",
    .classes = "NanbeigeForCausalLM",
    .model_types = "nanbeige",
    .about = "the layers run several times, each time with keys and values of their own",
    .keys = {sizes, rope_keys, loops},
    .layer_tensors = {layer, gated_feed_forward},
    .first_tensors = embedding_and_llama3,
    .config = {.members = {{"attention_bias", "@attn_q.bias"}}},
    .cache = {.has_loops = true},
};
MU_FAMILY(nanbeige);

}  // namespace modelutils::arch::families::nanbeige
