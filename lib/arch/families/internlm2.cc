// InternLM2: Q, K and V in one matrix, group by group: the queries of a KV head, then its key and its value.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::internlm2 {

constexpr auto sizes = decoder_sizes({.context = "32768"});
constexpr Tensor first[] = {{"token_embd", "E,V", "model.tok_embeddings"}};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "attention_norm"},
    {"attn_q", "E,H*D",
     "[traditional] attention.wqkv{K g:H/K+2 D -> K g[0:H/K] D} | "
     "attention.wqkv{K g:H/K+2 t:2 j:D/2 -> K g[0:H/K] j t}"},
    {"attn_k", "E,K*D",
     "[traditional] attention.wqkv{K g:H/K+2 D -> K g=H/K D} | "
     "attention.wqkv{K g:H/K+2 t:2 j:D/2 -> K g=H/K j t}"},
    {"attn_v", "E,K*D", "attention.wqkv{K g:H/K+2 D -> K g=H/K+1 D}"},
    {"attn_output", "H*D,E", "attention.wo"},
    {"ffn_norm", "E", "ffn_norm"},
    {"ffn_gate", "E,F", "feed_forward.w1"},
    {"ffn_up", "E,F", "feed_forward.w3"},
    {"ffn_down", "F,E", "feed_forward.w2"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "model.norm"},
    {"output", "E,V", "output"},
};
constexpr Fixed fixed[] = {
    {"bias", "false", Severity::error,
     "llama.cpp does not support a bias of the output projection for this architecture"},
};

constexpr Family internlm2 = {
    .name = "internlm2",
    .gguf = "internlm2",
    .classes = "InternLM2ForCausalLM",
    .model_types = "internlm2",
    .about = "Q, K and V are one matrix, interleaved by groups of heads, and adjacent pairs are rotated.",
    .head = OutputHead::always,
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = fixed,
    .relations = {whole_width},
};
MU_FAMILY(internlm2);

}  // namespace modelutils::arch::families::internlm2
