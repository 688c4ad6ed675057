// OLMo 2 and 3: norms only after attention and feed-forward, and of queries and keys over all heads. In OLMo 3 three of
// four layers slide; rope scaling does not apply to them.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::olmo2 {

constexpr auto sizes = decoder_sizes({.context = "4096", .epsilon = "1e-6"});
constexpr Key windows[] = {
    {.name = "attention.sliding_window", .fields = "sliding_window", .symbol = "W", .fallback = "4096"},
    window_flags<4>,
};

constexpr Family olmo2 = {
    .name = "olmo2",
    .gguf = "olmo2",
    .classes = "Olmo2ForCausalLM",
    .model_types = "olmo2",
    .about = "norms after the blocks, QK norm over all heads",
    .head = OutputHead::always,
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention_without_norm, qk_norms_over_all_heads, norm_after_attention, gated_feed_forward,
                      norm_after_feed_forward},
    .fixed = {rotates_halves, rotates_whole_head},
    .relations = {whole_width},
    .checks = {warn_of_windows},
    .config = {.members = {{"attention_bias", "false"}}},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 4}},
};
MU_FAMILY(olmo2);

constexpr Family olmo3 = {
    .name = "olmo3",
    .gguf = "olmo2",
    .classes = "Olmo3ForCausalLM",
    .model_types = "olmo3",
    .about = "olmo2 with a sliding window in three of four layers",
    .gguf_when = "W",
    .head = OutputHead::always,
    .keys = {sizes, rope_keys, windows},
    .layer_tensors = {attention_without_norm, qk_norms_over_all_heads, norm_after_attention, gated_feed_forward,
                      norm_after_feed_forward},
    .fixed = {rotates_halves, rotates_whole_head},
    .relations = {whole_width},
    .config = {.fields = "layer_types", .members = {{"attention_bias", "false"}}},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 4}},
};
MU_FAMILY(olmo3);

}  // namespace modelutils::arch::families::olmo2
