// Llama 4: patches as rows of a matrix, a pixel shuffle, and an adapter.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::llama4 {

static std::optional<u64> shuffle(const hf::Config& config, const Sizes& /*sizes*/) {
  return inverse_of(config.number_field("vision_config.pixel_shuffle_ratio").value_or(0.5));
}

static Status check_shuffle(KeyWriter& out) {
  return check_ratio(out, "vision_config.pixel_shuffle_ratio");
}

static Status describe(ConfigWriter& out) {
  out.set("vision_config.pixel_shuffle_ratio", 1.0 / static_cast<double>(std::max<u64>(out.size("S"), 1)));
  return {};
}

constexpr Key more[] = {
    vision_epsilon("vision_config.norm_eps", "1e-5"),
    {.name = "vision.projector.scale_factor",
     .symbol = "S",
     .fallback = "2",
     .missing = Missing::assume,
     .derive = shuffle},
    use_gelu,
};
constexpr Tensor layer[] = {
    norm("ln1", "E", "input_layernorm"),         norm("ln2", "E", "post_attention_layernorm"),
    linear("attn_q", "E,E", "self_attn.q_proj"), linear("attn_k", "E,E", "self_attn.k_proj"),
    linear("attn_v", "E,E", "self_attn.v_proj"), linear("attn_out", "E,E", "self_attn.o_proj"),
    linear("ffn_up", "E,F", "mlp.fc1"),          linear("ffn_down", "F,E", "mlp.fc2"),
};
constexpr Tensor outside[] = {
    {.name = "v.patch_embd", .ne = "P*P*3,E", .source = "patch_embedding.linear", .plain = plain_kernel},
    table("@v.class_embd", "E", "class_embedding"),
    table("@v.position_embd.weight", "E,I/P*(I/P)+1", "positional_embedding_vlm"),
    norm("v.pre_ln", "E", "layernorm_pre"),
    norm("v.post_ln", "E", "layernorm_post"),
    linear("mm.model.mlp.1", "E*S*S,A", "vision_adapter.mlp.fc1", Need::absent),
    linear("mm.model.mlp.2", "A,C", "vision_adapter.mlp.fc2", Need::absent),
};
constexpr Tensor projector[] = {linear("mm.model.fc", "C,T", "linear_1", Need::absent)};

constexpr ProjectorFamily llama4 = {
    .rows = {.name = "llama4",
             .gguf = "clip",
             .classes = "Llama4ForConditionalGeneration",
             .model_types = {},
             .keys = {vision_keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .checks = {check_shuffle},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "llama4_vision_model"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.projector_input_dim", "=A"},
                                    {"vision_config.projector_output_dim", "=C"},
                                    {"vision_config.vision_output_dim", "=C"},
                                    {"vision_config.rope_theta", "10000"},
                                    {"vision_config.vision_feature_layer", "-1"}},
                        .describe = describe,
                        .model_type = "llama4",
                        .text_model_type = "llama4_text",
                        .hf_text_prefix = "language_model.model."}},
    .encoder = "vision",
    .roots = {"vision_model.|model.vision_model.", "multi_modal_projector.|model.multi_modal_projector."},
    .groups = {{.gguf = "v.blk.#.", .source = "model.layers.#.", .rows = layer, .count = "L"},
               {.rows = outside},
               {.rows = projector, .root = 1}},
    .token_members = "image_token_index=<|patch|>|boi_token_index=<|image_start|>|eoi_token_index=<|image_end|>",
};
MU_PROJECTOR(llama4);

}  // namespace modelutils::arch::towers::llama4
