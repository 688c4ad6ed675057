// Lumina 2, Z-Image.
#include "arch/images/list.h"

namespace modelutils::arch::images {

#define MU_LUMINA_BLOCK                                                                                       \
  "attn.to_q+attn.to_k+attn.to_v=attention.qkv attn.to_out.0=attention.out attn.norm_q=attention.q_norm "     \
  "attn.norm_k=attention.k_norm feed_forward.linear_1=feed_forward.w1 feed_forward.linear_2=feed_forward.w2 " \
  "feed_forward.linear_3=feed_forward.w3 norm2=attention_norm2 ffn_norm1 ffn_norm2 "
#define MU_LUMINA_MODULATED MU_LUMINA_BLOCK "norm1.norm=attention_norm1 norm1.linear=adaLN_modulation.1"

constexpr ImageNames lumina2_names[] = {
    {.rows = "x_embedder time_caption_embed.caption_embedder.0=cap_embedder.0 "
             "time_caption_embed.caption_embedder.1=cap_embedder.1 "
             "time_caption_embed.timestep_embedder.linear_1=t_embedder.mlp.0 "
             "time_caption_embed.timestep_embedder.linear_2=t_embedder.mlp.2 "
             "norm_out.linear_1=final_layer.adaLN_modulation.1 norm_out.linear_2=final_layer.linear"},
    {"context_refiner.#.", "context_refiner.#.", MU_LUMINA_BLOCK "norm1=attention_norm1"},
    {"noise_refiner.#.", "noise_refiner.#.", MU_LUMINA_MODULATED},
    {"layers.#.", "layers.#.", MU_LUMINA_MODULATED},
};
#undef MU_LUMINA_MODULATED
#undef MU_LUMINA_BLOCK

constexpr std::string_view z_image_block =
    "attention.to_q+attention.to_k+attention.to_v=attention.qkv attention.to_out.0=attention.out "
    "attention.norm_q=attention.q_norm attention.norm_k=attention.k_norm feed_forward.w1 feed_forward.w2 "
    "feed_forward.w3 attention_norm1 attention_norm2 ffn_norm1 ffn_norm2 adaLN_modulation.0";
constexpr ImageNames z_image_names[] = {
    {.rows = "all_x_embedder.2-1=x_embedder all_final_layer.2-1.linear=final_layer.linear "
             "all_final_layer.2-1.adaLN_modulation.1=final_layer.adaLN_modulation.1 cap_embedder.0 cap_embedder.1 "
             "t_embedder.mlp.0 t_embedder.mlp.2 x_pad_token cap_pad_token"},
    {"context_refiner.#.", "context_refiner.#.", z_image_block},
    {"noise_refiner.#.", "noise_refiner.#.", z_image_block},
    {"layers.#.", "layers.#.", z_image_block},
};
constexpr ImageClass lumina2_classes[] = {{"Lumina2Transformer2DModel", lumina2_names},
                                          {"ZImageTransformer2DModel", z_image_names}};

constexpr ImageVariant lumina2_variants[] = {{.name = "Z-Image", .parts = "x_pad_token", .text_encoders = "Qwen3 4B"}};

constexpr ImageModel lumina2 = {
    .name = "lumina2",
    .title = "Lumina 2",
    .detect = "cap_embedder.1.weight context_refiner.0.attention.qkv.weight",
    .f32 = "x_pad_token cap_pad_token",
    .stays = "t_embedder. x_embedder. final_layer. cap_embedder. context_refiner. noise_refiner.",
    .stacks = "layers",
    .input_tensor = "x_embedder.weight",
    .text_tensor = "cap_embedder.1.weight",
    .text_encoders = "Gemma 2 2B",
    .vae = "Flux (ae)",
    .classes = lumina2_classes,
    .variants = lumina2_variants,
};

}  // namespace modelutils::arch::images
