// MiniMax M3: norms stored minus one, dense layers first, then experts scored by a sigmoid, and an indexer in each
// layer with experts that chooses the blocks of tokens to attend to.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::minimax_m3 {

// moe_layer_freq has a flag per layer, 0 for the dense layers.
static std::optional<u64> dense_layers(const hf::Config& config, const Sizes&) {
  const std::vector<u64> flags = counts_of_layers(config, "moe_layer_freq");
  u64 dense = 0;
  while (dense < flags.size() && flags[static_cast<std::size_t>(dense)] == 0) ++dense;
  return flags.empty() ? std::nullopt : std::optional(dense);
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "2048"});
  named(keys, "feed_forward_length").fields = "dense_intermediate_size";
  named(keys, "feed_forward_length").fallback = "Fx";
  return keys;
}();
constexpr auto weights = weights_of_experts("1", "true");
constexpr Key own[] = {
    {.name = "expert_feed_forward_length", .fields = "intermediate_size", .symbol = "Fx", .need = Need::required},
    {.name = "leading_dense_block_count",
     .symbol = "Ld",
     .fallback = "0",
     .loader_default = "0",
     .derive = dense_layers},
    shared_expert_count,
    expert_gating("2"),
    named(weights, "expert_weights_scale"),
    named(weights, "expert_weights_norm"),
    {.name = "attention.indexer.head_count",
     .fields = "sparse_attention_config.sparse_num_index_heads",
     .symbol = "Hi",
     .need = Need::required},
    {.name = "attention.indexer.key_length",
     .fields = "sparse_attention_config.sparse_index_dim",
     .symbol = "Di",
     .need = Need::required},
    {.name = "attention.indexer.top_k",
     .fields = "sparse_attention_config.sparse_topk_blocks",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "attention.indexer.block_size",
     .fields = "sparse_attention_config.sparse_block_size",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "attention.indexer.local_blocks",
     .fields = "sparse_attention_config.sparse_local_block",
     .missing = Missing::refuse,
     .need = Need::required},
};
constexpr std::string_view behind_dense = "i>=Ld";
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm@add_one"},
    {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},
    {"attn_v", "E,K*D", "self_attn.v_proj"},
    {"attn_q_norm", "D", "self_attn.q_norm@add_one"},
    {"attn_k_norm", "D", "self_attn.k_norm@add_one"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm@add_one"},
    {.name = "indexer.q_proj", .ne = "E,Hi*Di", .source = "self_attn.index_q_proj", .when = behind_dense},
    {.name = "indexer.k_proj", .ne = "E,Di", .source = "self_attn.index_k_proj", .when = behind_dense},
    {.name = "indexer.q_norm", .ne = "Di", .source = "self_attn.index_q_norm@add_one", .when = behind_dense},
    {.name = "indexer.k_norm", .ne = "Di", .source = "self_attn.index_k_norm@add_one", .when = behind_dense},
};
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.gate", .when = expert_layers, .f32 = true},
    {.name = "@exp_probs_b.bias",
     .ne = "X",
     .source = "block_sparse_moe.e_score_correction_bias",
     .when = expert_layers},
    {.name = "ffn_gate_exps", .ne = "E,Fx,X", .source = "block_sparse_moe.experts.#.w1", .when = expert_layers},
    {.name = "ffn_up_exps", .ne = "E,Fx,X", .source = "block_sparse_moe.experts.#.w3", .when = expert_layers},
    {.name = "ffn_down_exps", .ne = "Fx,E,X", .source = "block_sparse_moe.experts.#.w2", .when = expert_layers},
    {.name = "ffn_gate_shexp",
     .ne = "E,Fx*Ns",
     .source = "block_sparse_moe.shared_experts.gate_proj",
     .when = shared_expert_layers},
    {.name = "ffn_up_shexp",
     .ne = "E,Fx*Ns",
     .source = "block_sparse_moe.shared_experts.up_proj",
     .when = shared_expert_layers},
    {.name = "ffn_down_shexp",
     .ne = "Fx*Ns,E",
     .source = "block_sparse_moe.shared_experts.down_proj",
     .when = shared_expert_layers},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "model.norm@add_one"},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"use_qk_norm", "true", Severity::error, "llama.cpp normalises queries and keys"},
    {"use_gemma_norm", "true", Severity::error, "the norms of this architecture are stored minus one"},
    {"use_routing_bias", "true", Severity::error, "llama.cpp requires the bias for the choice"},
    {"scoring_func", "sigmoid", Severity::error, "this architecture scores experts by a sigmoid"},
    {"swiglu_alpha", "1.702", Severity::error, "llama.cpp multiplies the gate by 1.702"},
    {"swiglu_limit", "7", Severity::error, "llama.cpp clamps SwiGLU at 7"},
};
static Status check_order(KeyWriter& out) {
  const std::vector<u64> flags = counts_of_layers(out.config(), "moe_layer_freq");
  for (u64 i = 0; i < flags.size(); ++i) {
    if ((flags[static_cast<std::size_t>(i)] != 0) != (i >= out.size("Ld"))) {
      return out.refuse("moe_layer_freq",
                        "has a dense layer behind one with experts; llama.cpp has dense layers only in front");
    }
  }
  return {};
}
static Status describe(ConfigWriter& out) {
  std::vector<u64> flags;
  for (u64 i = 0; i < out.size("L"); ++i) flags.push_back(i >= out.size("Ld") ? 1 : 0);
  out.set("moe_layer_freq", hf::config_list(flags));
  return {};
}

constexpr Family minimax_m3 = {
    .name = "minimax-m3",
    .gguf = "minimax-m3",
    .classes = "MiniMaxM3SparseForCausalLM|MiniMaxM3SparseForConditionalGeneration|MiniMaxM3ForCausalLM",
    .model_types = "minimax_m3|minimax_m3_vl|minimax_m3_text",
    .about =
        "norms stored minus one; dense layers, then experts and an indexer that chooses blocks of tokens; "
        "llama.cpp chooses only with flash attention and attends to everything otherwise",
    .activation = "swigluoai",
    .activation_names = "swigluoai",
    .hf_rope_theta = 5e6,
    .keys = {sizes, partial_rope_keys, expert_keys, own},
    .layer_tensors = {layer, leading_feed_forward, experts},
    .last_tensors = last,
    .fixed = fixed,
    .checks = {check_order},
    .config = {.fields = "rotary_dim|n_shared_experts", .describe = describe},
    .cache = {.indexer = Indexer::behind_dense},
};
MU_FAMILY(minimax_m3);

}  // namespace modelutils::arch::families::minimax_m3
