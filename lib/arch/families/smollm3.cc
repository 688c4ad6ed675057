// SmolLM3: a llama in which every fourth layer has no rotary embedding.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/geometry.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::smollm3 {

constexpr auto sizes = decoder_sizes({.context = "32768", .epsilon = "1e-6"});
// no_rope_layers lists 1 for layers with rotary embedding. Without it the interval applies.
static Status check_rope_layers(KeyWriter& out) {
  constexpr std::string_view because = "llama.cpp leaves out the rotary embedding of every fourth layer";
  json::Array layers;
  const auto list = out.config().field("no_rope_layers");
  if (!list || !list->get(layers)) {
    const u64 interval = out.config().count_field("no_rope_layer_interval").value_or(4);
    return interval == 4 ? Status{} : out.refuse("no_rope_layer_interval", fmt::format("is {}; {}", interval, because));
  }
  u64 seen = 0;
  for (const json::Element element : layers) {
    u64 rotates = 0;
    if (!element.get(rotates) || (rotates != 0) != (++seen % 4 != 0)) {
      return out.refuse("no_rope_layers", fmt::format("does not leave out exactly every fourth layer; {}", because));
    }
  }
  return seen == out.size("L") ? Status{} : out.refuse("no_rope_layers", "does not have one entry for each layer");
}
static Status describe(ConfigWriter& out) {
  std::vector<u64> rotates;
  for (u64 i = 1; i <= out.size("L"); ++i) rotates.push_back(i % 4 == 0 ? 0 : 1);
  out.set("no_rope_layers", hf::config_list(rotates));
  return {};
}
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
    {"mlp_bias", "false"},
    {"no_rope_layer_interval", "4"},
    {"use_sliding_window", "false"},
};

constexpr Family smollm3 = {
    .name = "smollm3",
    .gguf = "smollm3",
    .classes = "SmolLM3ForCausalLM",
    .model_types = "smollm3",
    .about = "no rotary embedding in every fourth layer",
    .tied_by_default = true,
    .hf_rope_theta = 2e6,
    .mlx_rope_theta = 10000,
    .keys = {sizes, rope_keys},
    // The loader accepts no bias for the output projection.
    .layer_tensors = {projections_of_pairs, attention_output, gated_feed_forward},
    .unrotated_every = 4,
    .fixed = {rotates_whole_head},
    .checks = {check_rope_layers, warn_of_windows},
    .config = {.members = members, .describe = describe},
};
MU_FAMILY(smollm3);

}  // namespace modelutils::arch::families::smollm3
