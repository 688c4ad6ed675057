// Gemma 4's vision tower: norms before and after attention and feed-forward, clamped activations, one position table
// per axis.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::gemma4v {

static bool has_tower(const hf::Config& config) {
  json::Object tower;
  const auto field = config.field("vision_config");
  return field && field->get(tower);
}

static Status describe(ConfigWriter& out) {
  out.set("vision_config.use_clipped_linears", out.has_tensor("v.blk.0.attn_q.input_max"));
  out.set("vision_config.standardize", out.has_tensor("v.std_bias"));
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = {};
  named(rows, "vision.image_size").fallback = "224";  // the runtime takes images of any size
  named(rows, "vision.image_size").missing = Missing::assume;
  return rows;
}();
constexpr Key more[] = {
    vision_epsilon("vision_config.layer_norm_eps", "1e-6"),
    unwritten_size("vision_config.head_dim", "D", "E/H"),
    unwritten_size("vision_config.num_key_value_heads", "K", "H"),
    unwritten_size("vision_config.position_embedding_size", "N"),
};
constexpr Tensor layer[] = {
    norm("ln1", "E", "input_layernorm", Need::absent),
    norm("attn_post_norm", "E", "post_attention_layernorm", Need::absent),
    norm("ln2", "E", "pre_feedforward_layernorm", Need::absent),
    norm("ffn_post_norm", "E", "post_feedforward_layernorm", Need::absent),
    norm("attn_q_norm", "D", "self_attn.q_norm", Need::absent),
    norm("attn_k_norm", "D", "self_attn.k_norm", Need::absent),
    MU_CLIPPED("attn_q", "E,D*H", "self_attn.q_proj"),
    MU_CLIPPED("attn_k", "E,D*K", "self_attn.k_proj"),
    MU_CLIPPED("attn_v", "E,D*K", "self_attn.v_proj"),
    MU_CLIPPED("attn_out", "D*H,E", "self_attn.o_proj"),
    MU_CLIPPED("ffn_gate", "E,F", "mlp.gate_proj"),
    MU_CLIPPED("ffn_up", "E,F", "mlp.up_proj"),
    MU_CLIPPED("ffn_down", "F,E", "mlp.down_proj"),
};
constexpr Tensor outside[] = {
    kernel("v.patch_embd", "P,P,3,E", "patch_embedder.input_proj{{o:E y:P x:P c:3 -> o c y x}}", "E,P*P*3"),
    table("@v.position_embd.weight", "E,N,2", "patch_embedder.position_embedding_table"),
    table("@v.std_bias", "E", "std_bias", Need::optional),
    table("@v.std_scale", "E", "std_scale", Need::optional),
};
constexpr Tensor projector[] = {linear("mm.input_projection", "E,T", "embedding_projection", Need::absent)};

constexpr ProjectorFamily gemma4v = {
    .rows = {.name = "gemma4v",
             .gguf = "clip",
             .classes = "Gemma4ForConditionalGeneration",
             .model_types = {},
             .fits = has_tower,
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu("vision_config.hidden_activation")},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "gemma4_vision"},
                                    {"vision_config.head_dim", "=D"},
                                    {"vision_config.num_key_value_heads", "=K"},
                                    {"vision_config.position_embedding_size", "=N"},
                                    {"vision_config.pooling_kernel_size", "3"},
                                    {"vision_config.rms_norm_eps", "1e-6"}},
                        .describe = describe,
                        .model_type = "gemma4",
                        .text_model_type = "gemma4_text"}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.|model.vision_tower.", "[mlx] embed_vision.|model.embed_vision."},
    .groups = {{.gguf = "v.blk.#.", .source = "encoder.layers.#.", .rows = layer, .count = "L"},
               {.rows = outside},
               {.rows = projector, .root = 1}},
    .token_members = "image_token_id=<|image|>|boi_token_id=<|image>|eoi_token_id=<image|>",
    .own_type_key = true,
};
MU_PROJECTOR(gemma4v);

}  // namespace modelutils::arch::towers::gemma4v
