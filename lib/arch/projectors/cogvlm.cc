// CogVLM: EVA-CLIP with a class token, a gated projector, and embeddings around an image.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::cogvlm {

constexpr Key more[] = {vision_epsilon(layer_norm_eps, "1e-6")};
constexpr Tensor layer[] = {
    norm("ln1", "E", "input_layernorm"),
    norm("ln2", "E", "post_attention_layernorm"),
    linear("attn_qkv", "E,3*E", "attention.query_key_value"),
    linear("attn_out", "E,E", "attention.dense"),
    linear("ffn_up", "E,F", "mlp.fc1"),
    linear("ffn_down", "F,E", "mlp.fc2"),
};
constexpr Tensor outside[] = {
    kernel("v.patch_embd", "P,P,3,E", "[mlx] patch_embedding.proj{{o:E y:P x:P c:3 -> o c y x}} | patch_embedding.proj",
           stored_patch, Need::required),
    table("@v.class_embd", "E", "patch_embedding.cls_embedding"),
    table("v.position_embd", "E,I/P*(I/P)+1", "patch_embedding.position_embedding"),
    linear("mm.model.fc", "E,T", "linear_proj.linear_proj", Need::absent),
    norm("mm.post_fc_norm", "T", "linear_proj.norm1"),
    linear("mm.up", "T,C", "linear_proj.dense_h_to_4h", Need::absent),
    linear("mm.gate", "T,C", "linear_proj.gate_proj", Need::absent),
    linear("mm.down", "C,T", "linear_proj.dense_4h_to_h", Need::absent),
    table("@v.boi", "T", "boi"),
    table("@v.eoi", "T", "eoi"),
};

constexpr ProjectorFamily cogvlm = {
    .rows = {.name = "cogvlm",
             .gguf = "clip",
             .classes = "CogVLMForCausalLM",
             .model_types = {},
             .keys = {vision_keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.num_positions", "=I/P*(I/P)+1"},
                                    {"vision_config.in_channels", "3"},
                                    {"vision_config.dropout_prob", "0"}},
                        .model_type = "cogvlm",
                        .mlx_text_prefix = "model.",
                        .hf_text_prefix = "model."}},
    .encoder = "vision",
    .roots = {"model.vision.|vision."},
    .groups = {{.gguf = "v.blk.#.", .source = "transformer.layers.#.", .rows = layer, .count = "L"}, {.rows = outside}},
    .text_object = top_level,
};
MU_PROJECTOR(cogvlm);

}  // namespace modelutils::arch::towers::cogvlm
