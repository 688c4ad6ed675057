// K-EXAONE: only sliding layers are rotated; experts after the dense layers.
#include <algorithm>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "arch/prediction_rows.h"

namespace modelutils::arch::families::exaone_moe {

// Returns the number of leading dense layers in is_moe_layer.
static std::optional<u64> dense_layers_of_list(const hf::Config& config, const Sizes&) {
  const auto field = config.field("is_moe_layer");
  json::Array list;
  if (!field || !field->get(list)) return std::nullopt;
  u64 dense = 0;
  for (const json::Element one : list) {
    bool has_experts = false;
    if (!one.get(has_experts) || has_experts) break;
    ++dense;
  }
  return dense;
}

constexpr auto sizes = decoder_sizes({.context = "131072"});
constexpr Key own[] = {
    expert_width,
    [] {
      Key key = shared_expert_count;
      key.loader_default = "1";
      return key;
    }(),
    [] {
      Key key = leading_dense;
      key.fields = "first_k_dense_replace|first_last_k_dense_replace";
      key.derive = dense_layers_of_list;
      return key;
    }(),
    // The loader does not read the number of shared experts (llama.cpp's src/models/exaone-moe.cpp).
    {.name = "expert_shared_feed_forward_length",
     .symbol = "Fs",
     .fallback = "Fx*Ns",
     .missing = Missing::assume,
     .when = "X",
     .loader_default = "Fx"},
    {.name = "nextn_predict_layers", .fallback = "0", .missing = Missing::assume},
    expert_gating("2"),
    sliding_window({}, Missing::refuse),
    window_flags<4>,
};
constexpr auto weights = weights_of_experts("2.5", "true");
constexpr auto shared_experts = [] {
  auto rows = deepseek_shared_experts;
  named(rows, "ffn_gate_shexp").ne = named(rows, "ffn_up_shexp").ne = "E,Fs";
  named(rows, "ffn_down_shexp").ne = "Fs,E";
  return rows;
}();
constexpr Fixed fixed[] = {
    rotates_halves,
    {"num_shared_experts", "1", Severity::error, "llama.cpp assumes that the shared part is as wide as one expert"},
};
static Status describe(ConfigWriter& out) {
  std::vector<bool> has_experts;
  for (u64 i = 0; i < out.size("L"); ++i) has_experts.push_back(i >= out.size("Ld"));
  out.set("is_moe_layer", hf::config_list(has_experts));
  MU_ASSIGN(const std::vector<bool> slides, sliding_layers(out));
  const auto global = std::find(slides.begin(), slides.end(), false);
  if (global != slides.end()) out.set("sliding_window_pattern", std::string(global - slides.begin(), 'L') + "G");
  return {};
}

constexpr Family exaone_moe = {
    .name = "exaone-moe",
    .gguf = "exaone-moe",
    .classes = "ExaoneMoEForCausalLM|ExaoneMoeForCausalLM",
    .model_types = "exaone_moe",
    .about = "sliding layers with rope, global ones without, sigmoid router with a selection bias",
    .head = OutputHead::always,
    .hf_rope_theta = 1e6,
    .loader_needs = "expert_feed_forward_length|expert_gating_func|attention.sliding_window",
    .loads_without = "@exp_probs_b.bias",
    .keys = {sizes, said_rope_keys, expert_keys, own, weights, expert_groups},
    .layer_tensors = {attention, qk_norms, attention_output, leading_feed_forward, experts_behind_dense,
                      expert_choice_bias, shared_experts},
    .prediction = {.tensors = nextn_tensors, .sizes = "Ld=L"},
    .fixed = fixed,
    .config = {.fields = "num_experts|num_shared_experts|layer_types",
               .members = {{"topk_method", "noaux_tc"}},
               .describe = describe},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 4, .always = true, .in_prediction_blocks = true},
              .prediction = PredictionBlocks::cached},
};
MU_FAMILY(exaone_moe);

}  // namespace modelutils::arch::families::exaone_moe
