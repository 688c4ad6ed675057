// MiMo V2 Flash: sliding layers with sinks, another KV head count and another rope base; values narrower than keys.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/prediction_rows.h"

namespace modelutils::arch::families::mimo_v2_flash {

// Reads hybrid_layer_pattern, which is 1 for sliding layers.
static std::vector<u64> sliding_pattern(const hf::Config& config) {
  std::vector<u64> pattern;
  const auto field = config.field("hybrid_layer_pattern");
  json::Array list;
  if (!field || !field->get(list)) return pattern;
  for (const json::Element one : list) {
    uint64_t slides = 0;
    if (!one.get(slides)) return {};
    pattern.push_back(slides);
  }
  return pattern;
}
static std::vector<u64> key_heads(const hf::Config& config, const Sizes&) {
  const auto global = config.u64_field("num_key_value_heads");
  const auto sliding = config.u64_field("swa_num_key_value_heads");
  if (!global || !sliding) return {};
  std::vector<u64> heads = sliding_pattern(config);
  for (u64& of_layer : heads) of_layer = of_layer == 1 ? *sliding : *global;
  return heads;
}
static Status write_pattern(KeyWriter& out, const Key& key) {
  std::vector<u64> slides;  // integers instead of flags, as llama.cpp's converter writes them
  for (const u64 one : sliding_pattern(out.config())) slides.push_back(one == 1 ? 1 : 0);
  if (slides.size() != out.size(symbol::layers)) {
    return out.refuse("hybrid_layer_pattern", "does not have a number for each layer");
  }
  return out.counts(key.name, slides);
}
static Status check_heads(KeyWriter& out) {
  const hf::Config& config = out.config();
  for (const auto& [sliding, global] : {std::pair{"swa_head_dim", "head_dim"},
                                        {"swa_v_head_dim", "v_head_dim"},
                                        {"swa_num_attention_heads", "num_attention_heads"}}) {
    const auto stated = config.u64_field(sliding);
    if (stated && stated != config.u64_field(global)) {
      return out.refuse(sliding, "differs from that of the other layers; llama.cpp has one for all");
    }
  }
  if (out.is_mlx() && config.number_field("attention_value_scale").value_or(1) != 1) {
    out.warn("attention_value_scale", "is written, but mlx-lm does not apply it: its logits differ");
  }
  return {};
}

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "262144"});
  named(keys, "attention.head_count_kv").derive_layers = key_heads;
  named(keys, "attention.layer_norm_rms_epsilon").fields = "layernorm_epsilon|rms_norm_eps";
  named(keys, "attention.value_length") = {.name = "attention.value_length",
                                           .fields = "v_head_dim",
                                           .symbol = "Dv",
                                           .fallback = "D",
                                           .loader_default = "E/H"};
  return keys;
}();
constexpr Key own[] = {
    expert_width,
    expert_gating("2"),
    {.name = "attention.sliding_window", .fields = "sliding_window_size|sliding_window", .need = Need::required},
    {.name = "attention.sliding_window_pattern", .type = KeyType::flag_layers, .write = write_pattern},
    {.name = "attention.value_scale", .type = KeyType::f32, .fields = "attention_value_scale"},
};
// Layers with a router have experts, whatever their position. Some models have sinks only in sliding layers.
constexpr Mark marks[] = {{"M", "ffn_gate_inp"}, {"S", "@attn_sinks.weight"}};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj", Need::required, Need::optional},
    {"attn_k", "E,K*D", "self_attn.k_proj", Need::required, Need::optional},
    {"attn_v", "E,K*Dv", "self_attn.v_proj", Need::required, Need::optional},
    {"attn_output", "H*Dv,E", "self_attn.o_proj"},
    {"@attn_sinks.weight", "H", "self_attn.attention_sink_bias", Need::optional},
    {"ffn_norm", "E", "post_attention_layernorm"},
    {.name = "@exp_probs_b.bias",
     .ne = "X",
     .source = "mlp.gate.e_score_correction_bias",
     .need = Need::optional,
     .when = "M"},
};
constexpr auto experts = [] {
  auto rows = routed_experts("M");
  named(rows, "ffn_gate_inp").when = {};
  named(rows, "ffn_gate_inp").need = Need::optional;
  return rows;
}();
constexpr auto dense = feed_forward_of("!M");
constexpr Tensor block[] = {
    named(nextn_tensors, "nextn.eh_proj"),
    named(nextn_tensors, "nextn.enorm"),
    named(nextn_tensors, "nextn.hnorm"),
    named(nextn_tensors, "nextn.embed_tokens"),
    named(nextn_tensors, "nextn.shared_head_head"),
    named(nextn_tensors, "nextn.shared_head_norm"),
    {"layer_output_norm", "E", "final_layernorm", Need::optional},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"scoring_func", "sigmoid", Severity::error, "llama.cpp supports no other value for this architecture"},
    {"norm_topk_prob", "true", Severity::error, "llama.cpp normalises the selected experts' weights to sum 1"},
    {"routed_scaling_factor", "1", Severity::error, "for this architecture llama.cpp does not scale the experts"},
};
static Status check_weights(KeyWriter& out) {
  if (out.size("X") == 0 || out.size("U") != 1) return {};
  return out.refuse("num_experts_per_tok", "is 1: llama.cpp gives a single expert the weight 1, not its score");
}
// Restores the KV heads of both kinds of layers, and the layers with experts from their routers.
static Status describe(ConfigWriter& out) {
  MU_ASSIGN(const std::vector<bool> slides, sliding_layers(out));
  std::vector<u64> pattern, mixed;
  bool has_global_sinks = false;
  for (u64 i = 0; i < slides.size(); ++i) {
    const bool is_sliding = slides[static_cast<std::size_t>(i)];
    pattern.push_back(is_sliding ? 1 : 0);
    mixed.push_back(out.has_in_layer(i, "ffn_gate_inp.weight") ? 1 : 0);
    out.set(is_sliding ? "swa_num_key_value_heads" : "num_key_value_heads", out.sizes().get("K", i));
    has_global_sinks |= !is_sliding && out.has_in_layer(i, "attn_sinks.weight");
  }
  out.set("add_full_attention_sink_bias", has_global_sinks);
  out.set("hybrid_layer_pattern", hf::config_list(pattern));
  out.set("moe_layer_freq", hf::config_list(mixed));
  if (const auto window = out.count("attention.sliding_window")) out.set("sliding_window", *window);
  return {};
}
constexpr Member members[] = {
    {"add_swa_attention_sink_bias", "@attn_sinks.weight"},
    {"n_shared_experts", "null"},
    {"routed_scaling_factor", "null"},
    {"topk_method", "noaux_tc"},
    {"attention_bias", "@attn_q.bias"},
    {"swa_head_dim", "=D"},
    {"swa_v_head_dim", "=Dv"},
    {"swa_num_attention_heads", "=H"},
};

constexpr Family mimo_v2_flash = {
    .name = "mimo2",
    .gguf = "mimo2",
    .classes = "MiMoV2FlashForCausalLM|MiMoV2ForCausalLM",
    .model_types = "mimo_v2_flash|mimo_v2",
    .about = "sliding layers with sinks, key heads and a rope base of their own; values narrower than keys",
    .head = OutputHead::always,
    .mlx_scales_rope = false,
    .loader_needs = "expert_feed_forward_length|attention.sliding_window_pattern",
    .loads_without = "ffn_gate|ffn_up|ffn_down|ffn_gate_inp|ffn_gate_exps|ffn_up_exps|ffn_down_exps",
    .keys = {sizes, partial_rope_keys, expert_keys, own, expert_groups},
    .layer_tensors = {layer, dense, experts},
    .prediction = {.tensors = block, .runs = true, .numbers = "attention.sliding_window_pattern=1"},
    .renormalises_experts = true,
    .marks = marks,
    .fixed = fixed,
    .checks = {check_heads, check_weights},
    .config = {.fields = "n_routed_experts|swa_rope_theta", .members = members, .describe = describe},
    .cache = {.windows = {.rule = Windows::Rule::list, .always = true},
              .prediction = PredictionBlocks::uncached,
              .may_lack_prediction = true},
};
MU_FAMILY(mimo_v2_flash);

}  // namespace modelutils::arch::families::mimo_v2_flash
