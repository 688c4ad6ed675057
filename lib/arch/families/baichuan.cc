// Baichuan and Baichuan 2: a llama with queries, keys and values in one matrix. llama.cpp tells the models apart by
// their layers: 32 (7B) are rotated, 40 (13B) use ALiBi; with another number it computes something else.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::baichuan {

// The vocabulary of Baichuan 2, whose class normalises the rows of its head.
constexpr u64 second_vocabulary = 125696;
static std::optional<u64> normalises_head(const hf::Config& config, const Sizes&) {
  return config.u64_field("vocab_size") == second_vocabulary ? 1 : 0;
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "4096"});
  named(keys, "attention.head_count_kv").fields = {};  // every head has its own keys and values
  return keys;
}();
constexpr Key own[] = {{.name = "norm_head", .symbol = "Nh", .when = "0", .derive = normalises_head}};
// The rows are interleaved as for a llama, also for the models that do not rotate.
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.W_pack{n:3*H t:2 j:D/2 -> n[0:H] j t}"},
    {"attn_k", "E,K*D", "self_attn.W_pack{n:3*H t:2 j:D/2 -> n[H:2*H] j t}"},
    {"attn_v", "E,K*D", "self_attn.W_pack{n:3*H D -> n[2*H:3*H] D}"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
constexpr Tensor last[] = {
    named(norm_and_head, "output_norm"),
    {"output", "E,V", "[hf & Nh] lm_head@unit_rows | lm_head"},
};
constexpr Relation relations[] = {
    whole_width,
    {"K", "H", {}, "every head has its own keys and values"},
    {"(L==32)+(L==40)", "1", "num_hidden_layers",
     "is neither 32 (rotary embeddings) nor 40 (ALiBi); with any other number llama.cpp computes something else"},
};

constexpr Family baichuan = {
    .name = "baichuan",
    .gguf = "baichuan",
    .classes = "BaichuanForCausalLM|BaiChuanForCausalLM",
    .model_types = "baichuan",
    .about = "Q, K and V in one matrix; 32 layers are rotated, 40 use ALiBi, no other number is supported",
    .head = OutputHead::always,
    .keys = {sizes, rope_keys, own},
    .layer_tensors = {layer, gated_feed_forward},
    .last_tensors = last,
    .relations = relations,
};
MU_FAMILY(baichuan);

}  // namespace modelutils::arch::families::baichuan
