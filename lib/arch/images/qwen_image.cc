// Qwen-Image, Edit, Layered. Mage-Flow has the same names, but an img_in.weight of 128 columns.
#include "arch/images/list.h"

namespace modelutils::arch::images {

constexpr ImageClass qwen_image_classes[] = {{"QwenImageTransformer2DModel"}};

constexpr ImageVariant qwen_image_variants[] = {{.name = "Layered", .parts = "addition_t_embedding."},
                                                {.name = "Mage-Flow", .inputs = 128},
                                                {.name = "Edit", .word = "edit"}};

constexpr ImageModel qwen_image = {
    .name = "qwen_image",
    .title = "Qwen-Image",
    .detect =
        "time_text_embed.timestep_embedder.linear_2.weight transformer_blocks.0.attn.norm_added_q.weight "
        "transformer_blocks.0.img_mlp.net.0.proj.weight",
    .stays = "img_in. txt_in. time_text_embed. proj_out. norm_out.",
    .outer_blocks = "transformer_blocks.0. transformer_blocks.59.",
    .stacks = "transformer_blocks",
    .input_tensor = "img_in.weight",
    .text_tensor = "txt_in.weight",
    .text_encoders = "Qwen2.5-VL 7B",
    .vae = "Qwen-Image",
    .classes = qwen_image_classes,
    .variants = qwen_image_variants,
};

}  // namespace modelutils::arch::images
