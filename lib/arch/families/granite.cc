// Granite: a llama with four multipliers; the mixture may have a shared expert. llama.cpp also runs Granite 4 without
// Mamba layers as this architecture, with or without rope.
#include <algorithm>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/vision_links.h"

namespace modelutils::arch::families::granite {

static bool is_hybrid_class(const hf::Config& config) {
  return config.model_type == "granitemoehybrid";
}
static bool has_experts(const hf::Config& config) {
  return config.u64_field("num_local_experts").value_or(0) > 0;
}
static bool has_mamba(const hf::Config& config) {
  const auto& kinds = config.layer_types;
  return kinds.empty() || std::ranges::find(kinds, "mamba") != kinds.end();
}
static bool is_dense(const hf::Config& config) {
  return !is_hybrid_class(config) || (!has_mamba(config) && !has_experts(config));
}
static bool is_mixture(const hf::Config& config) {
  return !is_hybrid_class(config) || (!has_mamba(config) && has_experts(config));
}
// If config.json does not state it, mlx-lm uses rope.
static Status write_rope_switch(KeyWriter& out, const Key& key) {
  const auto stated = out.config().string_field("position_embedding_type");
  const bool has_rope = stated ? *stated == "rope" : out.is_mlx();
  if (is_hybrid_class(out.config()) && !has_rope) out.flag(key.name, false);
  return {};
}

// Granite 4 Vision feeds image features into several layers.
static Status write_image_layers(KeyWriter& out, const Key& key) {
  const std::vector<i32> numbers = projectors_of_layers(out.config(), out.size("L"));
  if (!numbers.empty()) out.integers(key.name, numbers);
  return {};
}

constexpr auto sizes = decoder_sizes({.epsilon = "1e-6"});
constexpr auto rope = [] {
  auto keys = rope_keys;
  named(keys, "rope.scaling.finetuned").write = write_rope_switch;
  return keys;
}();
constexpr Key multipliers[] = {
    {.name = "attention.scale",
     .type = KeyType::f32,
     .fields = "attention_multiplier",
     .fallback = "1",
     .missing = Missing::assume},
    {.name = "embedding_scale", .type = KeyType::f32, .fields = "embedding_multiplier"},
    {.name = "residual_scale", .type = KeyType::f32, .fields = "residual_multiplier"},
    {.name = "logit_scale",
     .type = KeyType::f32,
     .fields = "logits_scaling",
     .fallback = "1",
     .missing = Missing::assume,
     .need = Need::required},
};
constexpr Key image_layers[] = {
    {.name = "deepstack_mapping", .type = KeyType::u32_list, .write = write_image_layers},
};
constexpr Key shared[] = {
    {.name = "expert_shared_feed_forward_length",
     .fields = "shared_intermediate_size",
     .symbol = "Fs",
     .when = "Fs",
     .loader_default = "0"},
};
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.router.layer", .f32 = true},
    {.name = "ffn_gate_exps",
     .ne = "E,F,X",
     .source = "block_sparse_moe.switch_mlp.gate_proj | block_sparse_moe.input_linear{X t:2 F -> X t=0 F}",
     .stored = "[hf] X,2*F,E"},
    {.name = "ffn_up_exps",
     .ne = "E,F,X",
     .source = "block_sparse_moe.switch_mlp.up_proj | block_sparse_moe.input_linear{X t:2 F -> X t=1 F}",
     .stored = "[hf] X,2*F,E"},
    {"ffn_down_exps", "F,E,X", "block_sparse_moe.switch_mlp.down_proj | block_sparse_moe.output_linear"},
    {"ffn_gate_shexp", "E,Fs", "shared_mlp.gate_proj | shared_mlp.input_linear{t:2 Fs -> t=0 Fs}", Need::required,
     Need::absent, "Fs"},
    {"ffn_up_shexp", "E,Fs", "shared_mlp.up_proj | shared_mlp.input_linear{t:2 Fs -> t=1 Fs}", Need::required,
     Need::absent, "Fs"},
    {"ffn_down_shexp", "Fs,E", "shared_mlp.down_proj | shared_mlp.output_linear", Need::required, Need::absent, "Fs"},
};
// Granite 4 names its dense part "shared".
constexpr Tensor feed_forward[] = {
    {"ffn_gate", "E,F", "mlp.gate_proj | shared_mlp.input_linear{t:2 F -> t=0 F}", Need::required, Need::optional},
    {"ffn_up", "E,F", "mlp.up_proj | shared_mlp.input_linear{t:2 F -> t=1 F}", Need::required, Need::optional},
    {"ffn_down", "F,E", "mlp.down_proj | shared_mlp.output_linear", Need::required, Need::optional},
};
// Only the newer class can be without rope. All its layers have attention then.
static Status describe(ConfigWriter& out) {
  const bool has_experts = out.size("X") > 0;
  const bool has_rope = out.flag("rope.scaling.finetuned").value_or(true);
  if (!has_rope) {
    set_identity(out, "GraniteMoeHybridForCausalLM", "granitemoehybrid");
    out.set("position_embedding_type", "nope");
    out.set("layer_types",
            hf::config_list(std::vector<std::string_view>(static_cast<std::size_t>(out.size("L")), "attention")));
    if (!has_experts) {
      out.set("num_local_experts", u64{0});
      out.set("num_experts_per_tok", u64{0});
      out.set("shared_intermediate_size", out.size("F"));
    }
  } else if (has_experts && out.size("Fs") > 0) {
    set_identity(out, "GraniteMoeSharedForCausalLM", "granitemoeshared");
  }
  return {};
}
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
    {"mlp_bias", "@ffn_gate.bias"},
};

constexpr Family granite = {
    .name = "granite",
    .gguf = "granite",
    .classes = "GraniteForCausalLM|GraniteMoeHybridForCausalLM",
    .model_types = "granite|granitemoehybrid",
    .about = "multipliers of embedding, attention, residual and logits",
    .fits = is_dense,
    .tied_by_default = true,
    .keys = {sizes, rope, multipliers, image_layers},
    .layer_tensors = {attention_of_pairs, feed_forward},
    .first_tensors = embedding_and_rope,
    .fixed = {rotates_whole_head},
    .config = {.members = members, .describe = describe},
};
MU_FAMILY(granite);

constexpr Family granitemoe = {
    .name = "granitemoe",
    .gguf = "granitemoe",
    .classes = "GraniteMoeForCausalLM|GraniteMoeSharedForCausalLM|GraniteMoeHybridForCausalLM",
    .model_types = "granitemoe|granitemoeshared|granitemoehybrid",
    .about = "granite's multipliers and experts, with or without a shared one",
    .fits = is_mixture,
    .tied_by_default = true,
    .loads_without = "ffn_gate_exps",
    .keys = {sizes, rope, expert_keys, multipliers, shared},
    .layer_tensors = {attention_of_pairs, experts},
    .first_tensors = embedding_and_rope,
    .renormalises_experts = true,
    .fixed = {rotates_whole_head},
    .config = {.members = members, .describe = describe},
};
MU_FAMILY(granitemoe);

}  // namespace modelutils::arch::families::granite
