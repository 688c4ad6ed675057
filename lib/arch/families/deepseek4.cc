// DeepSeek V4: parallel residual streams (hyper-connections), keys and values in one vector, older tokens compressed,
// first layers that choose experts by a table of token ids, experts stored as MXFP4.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::deepseek4 {

// llama.cpp compresses this many tokens into one, in two halves and with an indexer in the first case.
constexpr u64 close_ratio = 4, far_ratio = 128;

// compress_ratios may go on for the blocks that predict further tokens.
static std::vector<u64> ratios_of_layers(const hf::Config& config, const Sizes& sizes) {
  const auto found = config.field("compress_ratios");
  json::Array list;
  const u64 layers = sizes.get(symbol::layers);
  if (!found || !found->get(list) || list.size() < layers) return {};
  std::vector<u64> ratios;
  for (const json::Element one : list) {
    uint64_t ratio = 0;
    if (ratios.size() == layers || !one.get(ratio)) break;
    ratios.push_back(ratio);
  }
  return ratios;
}
static Status write_ratios(KeyWriter& out, const Key& key) {
  if (ratios_of_layers(out.config(), out.sizes()).empty()) {
    return out.refuse("compress_ratios", "is no list with a number for each layer, which llama.cpp requires");
  }
  const std::vector<u64>& ratios = out.sizes().values(key.symbol);
  for (const u64 ratio : ratios) {
    if (ratio == 0 || ratio == close_ratio || ratio == far_ratio) continue;
    return out.refuse("compress_ratios",
                      fmt::format("has {}; llama.cpp knows 0, {} and {}", ratio, close_ratio, far_ratio));
  }
  std::vector<u64> all(static_cast<std::size_t>(out.size("L")), ratios.empty() ? 0 : ratios.front());
  if (ratios.size() == all.size()) all = ratios;
  return out.counts(key.name, all);
}
static Status read_ratios(ConfigWriter& out, const Key& key) {
  std::vector<u64> ratios;
  for (u64 i = 0; i < out.size("L"); ++i) ratios.push_back(out.sizes().get(key.symbol, i));
  out.set("compress_ratios", hf::config_list(ratios));
  return {};
}
static Status write_limits(KeyWriter& out, const Key& key) {
  const double limit = out.config().number_field("swiglu_limit").value_or(0);
  out.reals(key.name, std::vector<float>(static_cast<std::size_t>(out.size("L")), static_cast<float>(limit)));
  return {};
}
static Status read_limits(ConfigWriter& out, const Key& key) {
  MU_ASSIGN(const std::vector<float> limits, out.reals(key.name));
  for (const float limit : limits) {
    if (limit != limits.front()) return out.refuse(key.name, "differs between layers, but config.json has one limit");
  }
  const float limit = limits.empty() ? static_cast<float>(out.real(key.name).value_or(0)) : limits.front();
  const hf::ConfigValue* before = hf::find_member(out.members, "swiglu_limit");
  const auto* stated = before == nullptr ? nullptr : std::get_if<float>(&before->value);
  if (stated != nullptr && *stated != limit) {
    return out.refuse(key.name, "differs from the routed experts' limit, but config.json has one for both");
  }
  out.set("swiglu_limit", limit);
  return {};
}
constexpr std::string_view scores = "sqrtsoftplus";
static Status write_scores(KeyWriter& out, const Key& key) {
  constexpr u64 square_root_of_softplus = 4;
  if (out.config().string_field("scoring_func").value_or(scores) == scores) {
    return out.count(key.name, square_root_of_softplus);
  }
  return out.refuse("scoring_func", "is not sqrtsoftplus, by which this architecture scores experts");
}
static Status read_scores(ConfigWriter& out, const Key&) {
  out.set("scoring_func", std::string(scores));
  return {};
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "4096", .epsilon = "1e-6"});
  named(keys, "feed_forward_length").fields = {};  // there is no dense part
  named(keys, "attention.key_length").need = Need::required;
  return keys;
}();
constexpr auto rope = [] {
  auto keys = rope_keys;
  named(keys, "rope.dimension_count") = {
      .name = "rope.dimension_count", .fields = "qk_rope_head_dim", .symbol = "R", .need = Need::required};
  return keys;
}();
constexpr auto weights = weights_of_experts("1", "true");
constexpr Key mixture[] = {
    expert_width,
    shared_expert_count,
    {.name = "expert_gating_func", .write = write_scores, .read = read_scores},
    named(weights, "expert_weights_scale"),
    named(weights, "expert_weights_norm"),
    {.name = "swiglu_clamp_exp", .type = KeyType::f32_or_layers, .write = write_limits, .read = read_limits},
    {.name = "swiglu_clamp_shexp", .type = KeyType::f32_or_layers, .write = write_limits, .read = read_limits},
    {.name = "hash_layer_count", .fields = "num_hash_layers", .symbol = "Lh", .fallback = "0", .need = Need::required},
};
constexpr Key attention_keys[] = {
    {.name = "attention.q_lora_rank", .fields = "q_lora_rank", .symbol = "Rq", .need = Need::required},
    {.name = "attention.sliding_window",
     .fields = "sliding_window",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "attention.indexer.head_count", .fields = "index_n_heads", .symbol = "Hi", .need = Need::required},
    {.name = "attention.indexer.key_length", .fields = "index_head_dim", .symbol = "Di", .need = Need::required},
    {.name = "attention.indexer.top_k", .fields = "index_topk", .missing = Missing::refuse, .need = Need::required},
    {.name = "attention.output_group_count", .fields = "o_groups", .symbol = "Go", .need = Need::required},
    {.name = "attention.output_lora_rank", .fields = "o_lora_rank", .symbol = "Ro", .need = Need::required},
    {.name = "attention.compress_ratios",
     .type = KeyType::u32_or_layers,
     .symbol = "Cr",
     .missing = Missing::refuse,
     .need = Need::required,
     .derive_layers = ratios_of_layers,
     .write = write_ratios,
     .read = read_ratios},
    {.name = "attention.compress_rope_freq_base",
     .type = KeyType::f32,
     .fields = "compress_rope_theta",
     .missing = Missing::refuse,
     .need = Need::required},
};
constexpr Key streams[] = {
    {.name = "hyper_connection.count", .fields = "hc_mult", .symbol = "Hc", .fallback = "4", .need = Need::required},
    {.name = "hyper_connection.sinkhorn_iterations",
     .fields = "hc_sinkhorn_iters",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "hyper_connection.epsilon",
     .type = KeyType::f32,
     .fields = "hc_eps",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "embedding_length_out", .fallback = "Hc*E", .missing = Missing::assume},
};

constexpr Tensor first[] = {{"token_embd", "E,V", "embed"}};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "attn_norm"},           {"@attn_sinks.weight", "H", "attn.attn_sink"},
    {"attn_q_a", "E,Rq", "attn.wq_a"},         {"attn_q_a_norm", "Rq", "attn.q_norm"},
    {"attn_q_b", "Rq,H*D", "attn.wq_b"},       {"attn_kv", "E,D", "attn.wkv"},
    {"attn_kv_a_norm", "D", "attn.kv_norm"},   {"attn_output_a", "H*D/Go,Go*Ro", "attn.wo_a"},
    {"attn_output_b", "Go*Ro,E", "attn.wo_b"}, {"ffn_norm", "E", "ffn_norm"},
};
constexpr Tensor mixing[] = {
    {.name = "@hc_attn_fn.weight", .ne = "Hc*E,(Hc+2)*Hc", .source = "hc_attn_fn", .f32 = true},
    {"@hc_attn_base.weight", "(Hc+2)*Hc", "hc_attn_base"},
    {"@hc_attn_scale.weight", "3", "hc_attn_scale"},
    {.name = "@hc_ffn_fn.weight", .ne = "Hc*E,(Hc+2)*Hc", .source = "hc_ffn_fn", .f32 = true},
    {"@hc_ffn_base.weight", "(Hc+2)*Hc", "hc_ffn_base"},
    {"@hc_ffn_scale.weight", "3", "hc_ffn_scale"},
};
constexpr std::string_view compresses = "Cr", has_indexer = "Cr==4";
constexpr Tensor compressors[] = {
    {.name = "@attn_compressor_ape.weight",
     .ne = "D*(1+(Cr==4)),Cr",
     .source = "attn.compressor.ape",
     .when = compresses,
     .f32 = true},
    {.name = "attn_compressor_kv", .ne = "E,D*(1+(Cr==4))", .source = "attn.compressor.wkv", .when = compresses},
    {.name = "attn_compressor_gate", .ne = "E,D*(1+(Cr==4))", .source = "attn.compressor.wgate", .when = compresses},
    {.name = "attn_compressor_norm", .ne = "D", .source = "attn.compressor.norm", .when = compresses},
    {.name = "@indexer_compressor_ape.weight",
     .ne = "2*Di,Cr",
     .source = "attn.indexer.compressor.ape",
     .when = has_indexer,
     .f32 = true},
    {.name = "indexer_compressor_kv", .ne = "E,2*Di", .source = "attn.indexer.compressor.wkv", .when = has_indexer},
    {.name = "indexer_compressor_gate", .ne = "E,2*Di", .source = "attn.indexer.compressor.wgate", .when = has_indexer},
    {.name = "indexer_compressor_norm", .ne = "Di", .source = "attn.indexer.compressor.norm", .when = has_indexer},
    {.name = "indexer.proj", .ne = "E,Hi", .source = "attn.indexer.weights_proj", .when = has_indexer},
    {.name = "indexer.attn_q_b", .ne = "Rq,Hi*Di", .source = "attn.indexer.wq_b", .when = has_indexer},
};
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "ffn.gate", .f32 = true},
    {.name = "@ffn_gate_tid2eid.weight",
     .ne = "U,V",
     .source = "ffn.gate.tid2eid",
     .when = "i<Lh",
     .is_of_experts = true},
    {.name = "@exp_probs_b.bias", .ne = "X", .source = "ffn.gate.bias", .when = "i>=Lh"},
    {"ffn_gate_exps", "E,Fx,X", "ffn.experts.#.w1"},
    {"ffn_up_exps", "E,Fx,X", "ffn.experts.#.w3"},
    {"ffn_down_exps", "Fx,E,X", "ffn.experts.#.w2"},
    {"ffn_gate_shexp", "E,Fx*Ns", "ffn.shared_experts.w1"},
    {"ffn_up_shexp", "E,Fx*Ns", "ffn.shared_experts.w3"},
    {"ffn_down_shexp", "Fx*Ns,E", "ffn.shared_experts.w2"},
};
constexpr Tensor last[] = {
    {.name = "@output_hc_fn.weight", .ne = "Hc*E,Hc", .source = "hc_head_fn", .f32 = true},
    {"@output_hc_base.weight", "Hc", "hc_head_base"},
    {"@output_hc_scale.weight", "1", "hc_head_scale"},
    {"output_norm", "E", "norm"},
    {"output", "E,V", "head"},
};

constexpr Fixed fixed[] = {
    {"attention_bias", "false", Severity::error, "llama.cpp has no biases here"},
    {"topk_method", "noaux_tc", Severity::error, "this architecture chooses differently"},
};
constexpr Relation relations[] = {
    {"Hc", "4", "hc_mult", "is not 4, the only number of residual streams that llama.cpp computes"},
    {"K", "1", "num_key_value_heads", "is not 1; keys and values of this architecture are one vector"},
    {"0<X", "1", "n_routed_experts", "is missing or 0; llama.cpp requires experts for this architecture"},
};
constexpr Member members[] = {
    {"num_nextn_predict_layers", "0"},
    {"topk_method", "noaux_tc"},
};

constexpr Family deepseek4 = {
    .name = "deepseek4",
    .gguf = "deepseek4",
    .classes = "DeepseekV4ForCausalLM",
    .model_types = "deepseek_v4",
    .about =
        "four residual streams, keys and values in one vector, older tokens compressed and chosen by an indexer; "
        "first layers with a table of experts for each token; experts as MXFP4",
    .layer_prefixes = "layers.",
    .loader_needs =
        "expert_feed_forward_length|expert_shared_count|expert_weights_scale|expert_weights_norm|"
        "expert_gating_func|swiglu_clamp_exp|swiglu_clamp_shexp",
    .keys = {sizes, rope, expert_keys, mixture, attention_keys, streams},
    .layer_tensors = {layer, mixing, compressors, experts},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = fixed,
    .relations = relations,
    .config = {.fields = "n_routed_experts|n_shared_experts", .members = members},
    .cache = {.windows = {.rule = Windows::Rule::all, .always = true},
              .recurrence = {.keeps_history = true},
              .prediction = PredictionBlocks::uncached,
              .indexer = Indexer::compressed},
};
MU_FAMILY(deepseek4);

}  // namespace modelutils::arch::families::deepseek4
