// The text models of Qwen2-VL, Qwen2.5-VL and Qwen3-VL, and those of Qwen2.5-Omni and Qwen3-Omni: like Qwen2 and Qwen3,
// with rope sections for images.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/rope.h"

namespace modelutils::arch::families::qwen_vl {

// Writes the number of layers that receive the image encoder's features. The loader computes its input width from it.
static Status write_deepstack(KeyWriter& out, const Key& key) {
  const auto field = out.config().field("vision_config.deepstack_visual_indexes");
  json::Array layers;
  return out.count(key.name, field && field->get(layers) ? layers.size() : 0);
}

constexpr auto sizes = decoder_sizes({.context = "32768"});
constexpr auto mixture_sizes = [] {
  auto keys = sizes;
  named(keys, "feed_forward_length").fallback = "Fx*U";  // no tensor has this width
  return keys;
}();
constexpr auto rope = [] {
  auto keys = rope_keys;
  named(keys, "rope.scaling.type").write = write_scaling_besides_sections;
  return keys;
}();
constexpr Key sections[] = {
    {.name = "rope.dimension_sections",
     .type = KeyType::u32_list,
     .write = write_rope_sections,
     .read = read_rope_sections},
};
constexpr Key sections_and_stack[] = {
    {.name = "rope.dimension_sections",
     .type = KeyType::u32_list,
     .write = write_interleaved_sections,
     .read = read_rope_sections},
    {.name = "n_deepstack_layers", .write = write_deepstack},
};
constexpr Key mixture[] = {expert_width};
// The original checkpoint stores experts transposed (inputs × outputs).
constexpr auto experts = [] {
  auto rows = routed_experts();
  named(rows, "ffn_gate_exps").source =
      "mlp.switch_mlp.gate_proj | mlp.experts.gate_up_proj{{X E t:2 Fx -> X t=0 Fx E}} | mlp.experts.#.gate_proj";
  named(rows, "ffn_up_exps").source =
      "mlp.switch_mlp.up_proj | mlp.experts.gate_up_proj{{X E t:2 Fx -> X t=1 Fx E}} | mlp.experts.#.up_proj";
  named(rows, "ffn_down_exps").source =
      "mlp.switch_mlp.down_proj | mlp.experts.down_proj{{X Fx E -> X E Fx}} | mlp.experts.#.down_proj";
  named(rows, "ffn_gate_exps").stored = named(rows, "ffn_up_exps").stored = "[hf] X,E,2*Fx";
  named(rows, "ffn_down_exps").stored = "[hf] X,Fx,E";
  return rows;
}();
static Status describe(ConfigWriter& out) {
  out.assume("rope_scaling.mrope_interleaved", true);
  return {};
}

constexpr Family qwen2_vl = {
    .name = "qwen2vl",
    .gguf = "qwen2vl",
    .classes =
        "Qwen2VLForConditionalGeneration|Qwen2_5_VLForConditionalGeneration|Qwen2_5OmniModel|"
        "Qwen2_5OmniForConditionalGeneration|Qwen2_5OmniThinkerForConditionalGeneration",
    .model_types = "qwen2_vl|qwen2_vl_text|qwen2_5_vl|qwen2_5_vl_text|qwen2_5_omni|qwen2_5_omni_text",
    .about = "the text part: biases of queries, keys and values, rope sections",
    .mlx_rope_theta = 1e6,
    .loader_needs = "rope.dimension_sections",
    .loads_without = "attn_q.bias|attn_k.bias|attn_v.bias|attention.layer_norm_rms_epsilon",
    .keys = {sizes, rope, sections},
    .layer_tensors = {attention_with_biases, attention_output, gated_feed_forward},
    .fixed = {rotates_halves},
    .relations = {whole_width},
    .checks = {warn_of_windows},
    .config = {.members = {{"attention_bias", "true"}, {"use_sliding_window", "false"}},
               .text_model_type = "qwen2_vl_text",
               .hf_text_prefix = "model."},
    .tokenizer = {.composes = true},
};
MU_FAMILY(qwen2_vl);

constexpr Family qwen3_vl = {
    .name = "qwen3vl",
    .gguf = "qwen3vl",
    .classes = "Qwen3VLForConditionalGeneration",
    .model_types = "qwen3_vl|qwen3_vl_text",
    .about = "the text part: norms of queries and keys, rope sections",
    .mlx_rope_theta = 1e6,
    .loader_needs = "rope.dimension_sections",
    .keys = {sizes, rope, sections_and_stack},
    .layer_tensors = {attention, qk_norms, attention_output, gated_feed_forward},
    .fixed = {rotates_halves},
    .checks = {warn_of_windows},
    .config = {.members = {{"attention_bias", "@attn_q.bias"}},
               .describe = describe,
               .text_model_type = "qwen3_vl_text",
               .only_mlx_names = true},
    .tokenizer = {.composes = true},
};
MU_FAMILY(qwen3_vl);

constexpr Family qwen3_vl_moe = {
    .name = "qwen3vlmoe",
    .gguf = "qwen3vlmoe",
    .classes =
        "Qwen3VLMoeForConditionalGeneration|Qwen3OmniMoeForConditionalGeneration|"
        "Qwen3OmniMoeThinkerForConditionalGeneration",
    .model_types = "qwen3_vl_moe|qwen3_vl_moe_text|qwen3_omni_moe|qwen3_omni_moe_text",
    .about = "the text part: experts in every layer, norms of queries and keys, rope sections",
    .layers_may_differ = true,
    .mlx_rope_theta = 1e6,
    .loader_needs = "rope.dimension_sections",
    .keys = {mixture_sizes, rope, sections_and_stack, expert_keys, mixture},
    .layer_tensors = {attention, qk_norms, attention_output, experts},
    .renormalises_experts = true,
    .fixed = {rotates_halves, experts_in_each, experts_in_all, normalises_weights},
    .checks = {warn_of_windows},
    .config = {.fields = "num_experts",
               .members = {{"attention_bias", "@attn_q.bias"}},
               .describe = describe,
               .text_model_type = "qwen3_vl_moe_text",
               .only_mlx_names = true},
    .tokenizer = {.composes = true},
};
MU_FAMILY(qwen3_vl_moe);

}  // namespace modelutils::arch::families::qwen_vl
