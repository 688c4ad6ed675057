// Mamba, Falcon Mamba and Mamba 2: only state-space layers, without attention and feed-forward parts.
#include <fmt/core.h>

#include "arch/config_writer.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::mamba {

// Falcon Mamba normalises the time step, B and C with norms that have no weights.
static bool normalises_parts(const hf::Config& config) {
  return config.bool_field("use_bcdt_rms").value_or(false) || config.model_type == "falcon_mamba";
}
static Status write_part_norms(KeyWriter& out, const Key& key) {
  out.flag(key.name, normalises_parts(out.config()));
  return {};
}
static Status read_part_norms(ConfigWriter& out, const Key& key) {
  if (!out.flag(key.name).value_or(false)) return {};
  set_identity(out, "FalconMambaForCausalLM", "falcon_mamba");
  out.set("use_bcdt_rms", true);
  out.assume("mixer_rms_eps", 1e-6);  // the file has one epsilon for all norms
  return {};
}
constexpr Key part_norms[] = {
    {.name = "ssm.dt_b_c_rms", .type = KeyType::flag, .write = write_part_norms, .read = read_part_norms}};

// No layer has heads, and llama.cpp's default for a missing head count is 0.
constexpr auto headless_sizes = [] {
  auto keys = recurrent_sizes;
  named(keys, "attention.head_count").need = Need::optional;
  return keys;
}();
constexpr auto mamba_sizes = [] {
  auto keys = mamba_keys;
  named(keys, "ssm.inner_size").fields = "intermediate_size|d_inner";
  named(keys, "ssm.time_step_rank").fields = "time_step_rank|dt_rank";
  return keys;
}();
constexpr auto mamba2_sizes = [] {
  auto keys = mamba_keys;
  named(keys, "ssm.time_step_rank").fields = "num_heads";
  return keys;
}();

constexpr Tensor first[] = {
    {"token_embd", "E,V",
     "backbone.embeddings | backbone.embedding | model.backbone.embeddings | model.backbone.embedding"},
};
constexpr Tensor norm[] = {{"attn_norm", "E", "norm"}};
constexpr auto mamba_rows = mamba_layer();
constexpr auto mamba2_rows = mamba2_layer();
constexpr Tensor last[] = {
    {"output_norm", "E", "backbone.norm_f | model.backbone.norm_f"},
    {"output", "E,V", "lm_head | model.lm_head"},
};
constexpr std::string_view no_biases = "llama.cpp does not support biases of projections for this architecture";
constexpr std::string_view needs_bias = "for this architecture llama.cpp needs the bias of the convolution";
constexpr Fixed fixed[] = {
    {"use_bias", "false", Severity::error, no_biases},
    {"bias", "false", Severity::error, no_biases},
    {"use_conv_bias", "true", Severity::error, needs_bias},
    {"conv_bias", "true", Severity::error, needs_bias},
};

static Status check_epsilons(KeyWriter& out) {
  const hf::Config& config = out.config();
  const double epsilon = config.number_field("layer_norm_epsilon").value_or(1e-5);
  if (out.is_mlx() && epsilon != 1e-5) {
    out.warn("layer_norm_epsilon", fmt::format("is {}; mlx-lm computes with 1e-05 regardless", epsilon));
  }
  const double part_epsilon = config.number_field("mixer_rms_eps").value_or(1e-6);
  if (normalises_parts(config) && part_epsilon != epsilon) {
    out.warn("mixer_rms_eps", fmt::format("is {}; llama.cpp computes with layer_norm_epsilon, {}, in every norm",
                                          part_epsilon, epsilon));
  }
  return {};
}
constexpr Member mamba2_members[] = {
    {"head_dim", "=I/Rt"},
    {"intermediate_size", "=I"},
    {"expand", "=I/E"},
    {"time_step_rank", "auto"},
};

constexpr Family mamba = {
    .name = "mamba",
    .gguf = "mamba",
    .classes = "MambaForCausalLM|MambaLMHeadModel|FalconMambaForCausalLM",
    .model_types = "mamba|falcon_mamba",
    .about = "State-space layers only; Falcon Mamba normalises the time step, B and C.",
    .layer_prefixes = "backbone.layers.|model.backbone.layers.",
    .tied_by_default = true,
    .class_has_defaults = true,
    .keys = {headless_sizes, mamba_sizes, part_norms},
    .layer_tensors = {norm, mamba_rows},
    .first_tensors = first,
    .last_tensors = last,
    .layout_signs = {{"mixer.conv1d", Telling::convolution}},
    .fixed = fixed,
    .relations = {doubles_width},
    .checks = {check_epsilons},
    .config = {.fields = "state_size", .members = {{"expand", "=I/E"}}},
    .cache = {.recurrence = {Recurrence::Layers::all, Recurrence::State::ungrouped_convolution}},
};
MU_FAMILY(mamba);

constexpr Family mamba2 = {
    .name = "mamba2",
    .gguf = "mamba2",
    .classes = "Mamba2ForCausalLM",
    .model_types = "mamba2",
    .about = "State-space layers only, with heads and groups.",
    .layer_prefixes = "backbone.layers.|model.backbone.layers.",
    .tied_by_default = true,
    .class_has_defaults = true,
    .keys = {headless_sizes, mamba2_sizes, mamba2_groups},
    .layer_tensors = {norm, mamba2_rows},
    .first_tensors = first,
    .last_tensors = last,
    .layout_signs = {{"mixer.conv1d", Telling::convolution}},
    .fixed = fixed,
    .checks = {warn_of_groups, warn_of_time_step_limit},
    .config = {.fields = "state_size", .members = mamba2_members, .describe = describe_limits},
    .cache = {.recurrence = {Recurrence::Layers::all, Recurrence::State::convolution}},
};
MU_FAMILY(mamba2);

}  // namespace modelutils::arch::families::mamba
