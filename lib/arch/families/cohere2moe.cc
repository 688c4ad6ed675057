// Cohere 2 with experts: attention and feed-forward part side by side after one LayerNorm without bias, sliding layers
// with rotary embedding and global ones without, dense layers first, then experts scored by a sigmoid.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "arch/prediction_rows.h"

namespace modelutils::arch::families::cohere2moe {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "8192", .epsilon = "1e-5", .layer_norm = true});
  named(keys, "feed_forward_length").fields = "prefix_dense_intermediate_size";  // of the dense layers
  named(keys, "feed_forward_length").fallback = "Fx";
  return keys;
}();
static Status write_windows(KeyWriter& out, const Key& key) {
  if (out.config().layer_types.empty()) return out.refuse("layer_types", "is missing, but llama.cpp requires windows");
  return write_window_flags(out, key);
}
constexpr auto weights = weights_of_experts({}, "true");
constexpr Key own[] = {
    {.name = "logit_scale",
     .type = KeyType::f32,
     .fields = "logit_scale",
     .fallback = "0.0625",
     .missing = Missing::note,
     .need = Need::required},
    sliding_window("4096", Missing::warn, Need::required),
    {.name = "attention.sliding_window_pattern",
     .type = KeyType::flag_layers,
     .write = write_windows,
     .read = read_windows},
    {.name = "expert_feed_forward_length", .fields = "intermediate_size", .symbol = "Fx", .need = Need::required},
    [] {
      Key key = leading_dense;
      key.when = {};
      key.need = Need::required;
      return key;
    }(),
    shared_expert_count,
    {.name = "expert_shared_feed_forward_length", .symbol = "Fs", .fallback = "Fx*Ns", .when = "Ns"},
    [] {
      Key key = expert_gating("2");
      key.fields = "expert_selection_fn";
      return key;
    }(),
    named(weights, "expert_weights_norm"),
};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},        {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},      {"attn_v", "E,K*D", "self_attn.v_proj"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
};
constexpr auto shared = [] {
  auto rows = deepseek_shared_experts;
  named(rows, "ffn_gate_shexp").ne = named(rows, "ffn_up_shexp").ne = "E,Fs";
  named(rows, "ffn_down_shexp").ne = "Fs,E";
  return rows;
}();
constexpr Fixed fixed[] = {
    {"attention_bias", "false", Severity::error, "llama.cpp has no biases in the attention of this architecture"},
    {"use_qk_norm", "false", Severity::error, "llama.cpp has no norms of queries and keys in this architecture"},
    {"shared_expert_combination_strategy", "average", Severity::error,
     "llama.cpp averages the shared and the routed part"},
};
static Status describe(ConfigWriter& out) {
  MU_ASSIGN(const std::vector<bool> slides, sliding_layers(out));
  out.set("layer_types", layer_types(slides));
  return {};
}

constexpr Family cohere2moe = {
    .name = "cohere2moe",
    .gguf = "cohere2moe",
    .classes = "Cohere2MoeForCausalLM",
    .model_types = "cohere2moe|cohere2_moe",
    .about = "like cohere2, with dense layers first and then experts, whose part is averaged with the shared one",
    .head = OutputHead::never,
    .tied_by_default = true,
    .keys = {sizes, rope_keys, expert_keys, own},
    .layer_tensors = {layer, leading_feed_forward, experts_behind_dense, shared},
    .prediction = {.tensors = nextn_tensors, .runs = true, .numbers = "attention.sliding_window_pattern=0"},
    .fixed = fixed,
    .config = {.fields = "num_experts|num_shared_experts|first_k_dense_replace|norm_topk_prob|layer_types",
               .members = {{"layer_norm_bias", "false"}},
               .describe = describe},
    .cache = {.windows = {.rule = Windows::Rule::number_or_list, .global_first = true, .always = true},
              .prediction = PredictionBlocks::cached,
              .may_lack_prediction = true},
};
MU_FAMILY(cohere2moe);

}  // namespace modelutils::arch::families::cohere2moe
