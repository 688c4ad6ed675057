// Nemotron-H and Nemotron 3: a layer is either Mamba 2, attention without rope, or a feed-forward part with squared
// relu and no gate. In the mixture the feed-forward parts are experts.
#include <algorithm>

#include "arch/common_rows.h"
#include "arch/config_writer.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "arch/prediction_rows.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::nemotron_h {

constexpr std::string_view pattern = "hybrid_override_pattern|layers_block_type";

static bool has_experts(const hf::Config& config) {
  return config.u64_field("n_routed_experts").value_or(0) > 0;
}
static std::vector<u64> kv_heads(const hf::Config& config, const Sizes&) {
  return in_layers(kinds_of_layers(config, pattern), {"*", "attention", "full_attention"},
                   config.count_field(hf::fields::kv_heads).value_or(0));
}
static std::vector<u64> dense_widths(const hf::Config& config, const Sizes&) {
  return in_layers(kinds_of_layers(config, pattern), {"-", "mlp"},
                   config.count_field(hf::fields::feed_forward).value_or(0));
}
static std::vector<u64> expert_widths(const hf::Config& config, const Sizes&) {
  return in_layers(kinds_of_layers(config, pattern), {"E", "moe"},
                   config.count_field("moe_intermediate_size").value_or(0));
}

constexpr auto with_kinds = [](std::vector<u64> (*widths)(const hf::Config&, const Sizes&)) {
  auto keys = decoder_sizes();
  named(keys, "context_length") = endless_context;
  named(keys, "feed_forward_length").type = KeyType::u32_or_layers;  // 0 marks layers without a feed-forward part
  named(keys, "feed_forward_length").fields = {};
  named(keys, "feed_forward_length").derive_layers = widths;
  named(keys, "attention.head_count").type = KeyType::u32;  // the count in attention layers; other layers need none
  named(keys, "attention.head_count_kv").derive_layers = kv_heads;
  named(keys, "attention.layer_norm_rms_epsilon").fields = "layer_norm_epsilon|rms_norm_eps";
  named(keys, "attention.layer_norm_rms_epsilon").need =
      Need::optional;  // without it the loader falls back to the other epsilon
  named(keys, "attention.key_length").fields = "head_dim|attention_head_dim";
  return keys;
};
constexpr auto dense_sizes = with_kinds(dense_widths);
constexpr auto mixture_sizes = with_kinds(expert_widths);
constexpr auto ssm_sizes = [] {
  auto keys = mamba_keys;
  named(keys, "ssm.time_step_rank").fields = "mamba_num_heads";
  return joined(
      keys,
      std::to_array<Key>({
          // The loader's fallback if a file has no RMS epsilon.
          {.name = "attention.layer_norm_epsilon",
           .type = KeyType::f32,
           .fields = "layer_norm_epsilon|rms_norm_eps",
           .missing = Missing::refuse,
           .need = Need::required},
          // No layer has rope, but llama.cpp's converter writes both keys.
          {.name = "rope.dimension_count", .fallback = "D", .missing = Missing::assume},
          {.name = "rope.scaling.finetuned", .type = KeyType::flag, .fallback = "false", .missing = Missing::assume},
      }));
}();
static Status write_latent_size(KeyWriter& out, const Key& key) {
  const std::vector<u64>& marked = out.sizes().values("Lt");
  const bool has_matrices = std::ranges::any_of(marked, [](u64 mark) { return mark != 0; });
  const u64 width = out.size(key.symbol);
  return has_matrices || width != out.size("E") ? out.count(key.name, width) : Status{};
}
static Status read_latent_size(ConfigWriter& out, const Key& key) {
  const u64 width = out.size(key.symbol);
  if (out.has_in_layers("ffn_latent_down.weight") || width != out.size("E")) out.set(key.fields, width);
  return {};
}
constexpr auto mixture =
    joined(expert_keys, std::array{expert_width, shared_expert_count}, expert_weights, expert_groups,
           std::to_array<Key>({
               {.name = "expert_shared_feed_forward_length",
                .fields = "moe_shared_expert_intermediate_size",
                .symbol = "Fs",
                .when = "X",
                .loader_default = "0"},
               {.name = "moe_latent_size",
                .fields = "moe_latent_size",
                .symbol = "Z",
                .fallback = "E",
                .loader_default = "E",
                .write = write_latent_size,
                .read = read_latent_size},
           }));

constexpr Tensor first[] = {{"token_embd", "E,V", "backbone.embeddings | model.embeddings"}};
constexpr Tensor norm[] = {{"attn_norm", "E", "norm"}};
constexpr auto mamba_rows = mamba2_layer("!K & !F");
constexpr Tensor attention_rows[] = {
    {"attn_q", "E,H*D", "mixer.q_proj", Need::required, Need::optional, "K"},
    {"attn_k", "E,K*D", "mixer.k_proj", Need::required, Need::optional, "K"},
    {"attn_v", "E,K*D", "mixer.v_proj", Need::required, Need::optional, "K"},
    {"attn_output", "H*D,E", "mixer.o_proj", Need::required, Need::optional, "K"},
};
constexpr Tensor feed_forward[] = {
    {"ffn_up", "E,F", "mixer.up_proj", Need::required, Need::optional, "F"},
    {"ffn_down", "F,E", "mixer.down_proj", Need::required, Need::optional, "F"},
};
// A latent space may be as wide as the model, so like llama.cpp, recognise it by its matrices.
constexpr Mark marks[] = {{"Lt", "ffn_latent_down"}};
constexpr std::string_view has_latent = "F & (Lt | Z!=E)";
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "mixer.gate", .when = "F", .f32 = true},
    {.name = "@exp_probs_b.bias", .ne = "X", .source = "mixer.gate.e_score_correction_bias", .when = "F"},
    {.name = "ffn_latent_down", .ne = "E,Z", .source = "mixer.fc1_latent_proj", .when = has_latent},
    {.name = "ffn_latent_up", .ne = "Z,E", .source = "mixer.fc2_latent_proj", .when = has_latent},
    {.name = "ffn_up_exps",
     .ne = "Z,Fx,X",
     .source = "mixer.switch_mlp.fc1 | mixer.experts.#.up_proj | mixer.experts.up_proj",
     .when = "F"},
    {.name = "ffn_down_exps",
     .ne = "Fx,Z,X",
     .source = "mixer.switch_mlp.fc2 | mixer.experts.#.down_proj | mixer.experts.down_proj",
     .when = "F"},
    {.name = "ffn_up_shexp", .ne = "E,Fs", .source = "mixer.shared_experts.up_proj", .when = "F"},
    {.name = "ffn_down_shexp", .ne = "Fs,E", .source = "mixer.shared_experts.down_proj", .when = "F"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "backbone.norm_f | model.norm_f"},
    {"output", "E,V", "lm_head"},
};
// A GGUF block combines two layers of the directory, one with attention and one with experts, each after a norm.
constexpr Tensor block[] = {
    named(nextn_tensors, "nextn.eh_proj"),
    named(nextn_tensors, "nextn.enorm"),
    named(nextn_tensors, "nextn.hnorm"),
    {"post_attention_norm", "E", "post_norm"},
    {"nextn.shared_head_norm", "E", "shared_head.norm"},
};
constexpr std::string_view no_place = "llama.cpp does not support it for this architecture";
constexpr Fixed fixed[] = {
    {"mlp_hidden_act", "relu2", Severity::error, "llama.cpp computes the squared relu"},
    {"mamba_hidden_act", "silu|swish", Severity::error, "llama.cpp computes silu"},
    {"use_bias", "false", Severity::error, no_place},
    {"mamba_proj_bias", "false", Severity::error, no_place},
    {"use_conv_bias", "true", Severity::error, "llama.cpp needs the bias of the convolution"},
};
static Status check_mixture(KeyWriter& out) {
  for (const std::string& kind : kinds_of_layers(out.config(), pattern)) {
    if (kind != "-" && kind != "mlp") continue;
    return out.refuse(first_name(pattern),
                      "has dense layers; in a mixture llama.cpp requires experts in every layer "
                      "that is neither Mamba 2 nor attention");
  }
  if (out.config().u64_field("n_shared_experts").value_or(0) > 0) return {};
  return out.refuse("n_shared_experts", "is missing or 0; llama.cpp requires a shared expert");
}
constexpr Recurrence mamba_parts = {.layers = Recurrence::Layers::without_kv_heads_and_feed_forward,
                                    .state = Recurrence::State::convolution,
                                    .keeps_history = true};
// Writes one letter per layer.
static Status describe(ConfigWriter& out, char letter) {
  std::string letters;
  u64 width = 0;
  for (u64 i = 0; i < out.size("L"); ++i) {
    const u64 of_layer = out.sizes().get("F", i);
    letters += out.sizes().get("K", i) > 0 ? '*' : of_layer > 0 ? letter : 'M';
    width = std::max(width, of_layer);
  }
  out.set("hybrid_override_pattern", letters);
  if (letter == '-') out.set("intermediate_size", width);
  if (const auto context = out.count("context_length")) out.set("max_position_embeddings", *context);
  return describe_limits(out);
}
static Status describe_dense(ConfigWriter& out) {
  return describe(out, '-');
}
static Status describe_mixture(ConfigWriter& out) {
  return describe(out, 'E');
}
constexpr Member members[] = {
    {"mamba_head_dim", "=I/Rt"},
    {"attention_bias", "@attn_q.bias"},
    {"mlp_bias", "@ffn_up.bias"},
};
constexpr Member mixture_members[] = {
    {"mamba_head_dim", "=I/Rt"},
    {"attention_bias", "@attn_q.bias"},
    {"mlp_bias", "false"},
    {"intermediate_size", "=Fs"},
};

constexpr Family nemotron_h_moe = {
    .name = "nemotron_h_moe",
    .gguf = "nemotron_h_moe",
    .classes = "NemotronHForCausalLM",
    .model_types = "nemotron_h",
    .about = "Each layer is Mamba 2, attention without rope, or experts without a gate matrix.",
    .fits = has_experts,
    .layer_prefixes = "backbone.layers.|model.layers.",
    .loader_needs = "attention.head_count_kv|feed_forward_length",
    .loads_without = "ssm_conv1d.bias",
    .keys = {mixture_sizes, ssm_sizes, mamba2_groups, mixture},
    .layer_tensors = {norm, mamba_rows, attention_rows, experts},
    .first_tensors = first,
    .last_tensors = last,
    .prediction = {.tensors = block, .runs = true, .sizes = "F=Fx", .parts = 2},
    .layout_signs = {{"mixer.conv1d", Telling::convolution}},
    .renormalises_experts = true,
    .marks = marks,
    .fixed = fixed,
    .checks = {warn_of_time_step_limit, check_mixture},
    .config = {.fields = "n_routed_experts", .members = mixture_members, .describe = describe_mixture},
    .cache = {.recurrence = mamba_parts, .prediction = PredictionBlocks::cached},
};
MU_FAMILY(nemotron_h_moe);

constexpr Family nemotron_h = {
    .name = "nemotron_h",
    .gguf = "nemotron_h",
    .classes = "NemotronHForCausalLM",
    .model_types = "nemotron_h",
    .about = "Each layer is Mamba 2, attention without rope, or a feed-forward part without a gate matrix.",
    .layer_prefixes = "backbone.layers.|model.layers.",
    .loader_needs = "attention.head_count_kv|feed_forward_length",
    .loads_without = "ssm_conv1d.bias",
    .keys = {dense_sizes, ssm_sizes, mamba2_groups},
    .layer_tensors = {norm, mamba_rows, attention_rows, feed_forward},
    .first_tensors = first,
    .last_tensors = last,
    .layout_signs = {{"mixer.conv1d", Telling::convolution}},
    .fixed = fixed,
    .checks = {warn_of_time_step_limit},
    .config = {.members = members, .describe = describe_dense},
    .cache = {.recurrence = mamba_parts, .prediction = PredictionBlocks::cached},
};
MU_FAMILY(nemotron_h);

}  // namespace modelutils::arch::families::nemotron_h
