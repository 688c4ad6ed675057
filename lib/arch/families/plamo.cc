// PLaMo: attention and feed-forward run in parallel after one norm. Query head h uses key head h mod K, while in
// llama.cpp neighbouring query heads share a key head. So heads are reordered in the rows of Q and the columns of the
// output projection.
#include <algorithm>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/geometry.h"

namespace modelutils::arch::families::plamo {

static std::optional<u64> key_heads(const hf::Config& config, const Sizes& known) {
  const u64 shared = std::max<u64>(config.count_field("n_shared_head").value_or(8), 1);
  return (known.get(symbol::heads) + shared - 1) / shared;
}
constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "4096", .epsilon = "1e-6"});
  named(keys, "attention.head_count_kv")
      .fields = {};  // the class derives them from n_shared_head and ignores num_key_value_heads
  named(keys, "attention.head_count_kv").fallback = {};
  named(keys, "attention.head_count_kv").derive = key_heads;
  return keys;
}();
constexpr Tensor layer[] = {
    {"attn_norm", "E", "norm"},
    {"attn_q", "E,H*D", "self_attn.q_proj{s:H/K K D -> K s D}"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},
    {"attn_v", "E,K*D", "self_attn.v_proj"},
    {.name = "attn_output", .ne = "H*D,E", .source = "self_attn.o_proj{{E s:H/K K D -> E K s D}}", .stored = "E,H*D"},
};

constexpr Family plamo = {
    .name = "plamo",
    .gguf = "plamo",
    .classes = "PlamoForCausalLM",
    .model_types = "plamo",
    .about = "attention and feed-forward side by side, query heads in another order",
    .layer_prefixes = "model.layers.layers.",
    .head = OutputHead::always,
    .mlx_scales_rope = false,
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer, gated_feed_forward},
    .fixed = {rotates_halves},
    .relations = {whole_width},
    .config = {.members = {{"n_shared_head", "=H/K"}, {"num_key_value_heads", "=K"}}},
};
MU_FAMILY(plamo);

}  // namespace modelutils::arch::families::plamo
