// Mellum 2: experts in every layer, windows in some, norms of queries and keys.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::mellum {

constexpr auto sizes = decoder_sizes({.context = "131072", .width = "Fx*U"});
constexpr Key own[] = {
    expert_width,
    {.name = "attention.sliding_window", .fields = "sliding_window"},
    {.name = "attention.sliding_window_pattern",
     .type = KeyType::flag_layers,
     .write = write_window_flags,
     .read = read_windows},
};
static Status check_rope(KeyWriter& out) {
  const hf::Rope& rope = out.config().rope;
  if (rope.theta && rope.theta_local && *rope.theta != *rope.theta_local) {
    return out.refuse("rope_parameters.sliding_attention.rope_theta",
                      "differs from that of the other layers; llama.cpp has one for all");
  }
  if (!rope.scaling_local) return {};
  return out.refuse("rope_parameters.sliding_attention",
                    "scales the rope of sliding layers, which llama.cpp never does");
}
// The rope of sliding layers is not scaled.
static Status describe(ConfigWriter& out) {
  const hf::ConfigValue theta = out.take("rope_theta").value_or(hf::ConfigValue());
  hf::ConfigValue scaling = out.take("rope_scaling").value_or(hf::ConfigMembers{{"rope_type", "default"}});
  out.set("rope_parameters.full_attention", std::move(scaling));
  out.set("rope_parameters.full_attention.rope_theta", theta);
  out.set("rope_parameters.sliding_attention.rope_theta", theta);
  out.set("rope_parameters.sliding_attention.rope_type", "default");
  return {};
}

constexpr Family mellum = {
    .name = "mellum",
    .gguf = "mellum",
    .classes = "MellumForCausalLM",
    .model_types = "mellum",
    .about = "experts in every layer, sliding windows in some",
    .head = OutputHead::always,
    .loader_needs = "expert_feed_forward_length",
    .keys = {sizes, rope_keys, expert_keys, own},
    .layer_tensors = {attention, qk_norms, attention_output, qwen_experts},
    .renormalises_experts = true,
    .fixed = {rotates_halves, normalises_weights},
    .checks = {check_rope},
    .config = {.fields = "num_experts|layer_types", .describe = describe},
    .cache = {.windows = {.rule = Windows::Rule::number_or_list}},
};
MU_FAMILY(mellum);

}  // namespace modelutils::arch::families::mellum
