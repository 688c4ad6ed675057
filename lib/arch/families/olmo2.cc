// OLMo 2 and 3: norms only after attention and feed-forward, and of queries and keys over all heads. OLMo 3 slides in
// three of four layers, where the rope scaling does not count.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/sliding_windows.h"

namespace modelutils::arch::families::olmo2 {

namespace {

constexpr auto sizes = decoder_sizes({.context = "4096", .epsilon = "1e-6"});
constexpr Tensor layer[] = {
    {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},
    {"attn_v", "E,K*D", "self_attn.v_proj"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"attn_q_norm", "H*D", "self_attn.q_norm"},
    {"attn_k_norm", "K*D", "self_attn.k_norm"},
    {"post_attention_norm", "E", "post_attention_layernorm"},
    {"ffn_gate", "E,F", "mlp.gate_proj"},
    {"ffn_up", "E,F", "mlp.up_proj"},
    {"ffn_down", "F,E", "mlp.down_proj"},
    {"post_ffw_norm", "E", "post_feedforward_layernorm"},
};
Status write_period(KeyWriter& out, const Key& key) {
  const u64 period = window_period(out, 4);
  MU_TRY(check_window_order(out, period));
  return period == 4 ? Status{} : out.count(key.name, period);
}
constexpr Key windows[] = {
    {.name = "attention.sliding_window", .fields = "sliding_window", .symbol = "W", .fallback = "4096"},
    {.name = "attention.sliding_window_pattern", .write = write_period, .read = read_windows},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"partial_rotary_factor", "1", Severity::error, "llama.cpp rotates the whole head"},
};
constexpr Relation relations[] = {whole_width};
constexpr Check olmo2_checks[] = {warn_of_windows};
constexpr Member members[] = {
    {"attention_bias", "false"},
};

}  // namespace

const Family olmo2 = {
    .name = "olmo2",
    .gguf = "olmo2",
    .classes = "Olmo2ForCausalLM",
    .model_types = "olmo2",
    .about = "norms after the blocks, QK norm over all heads",
    .head = OutputHead::always,
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
    .relations = relations,
    .checks = olmo2_checks,
    .config = {.members = members},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 4}},
};

const Family olmo3 = {
    .name = "olmo3",
    .gguf = "olmo2",
    .classes = "Olmo3ForCausalLM",
    .model_types = "olmo3",
    .about = "olmo2 with a sliding window in three of four layers",
    .gguf_when = "W",
    .head = OutputHead::always,
    .keys = {sizes, rope_keys, windows},
    .layer_tensors = {layer},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
    .relations = relations,
    .config = {.fields = "layer_types", .members = members},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 4}},
};

}  // namespace modelutils::arch::families::olmo2
