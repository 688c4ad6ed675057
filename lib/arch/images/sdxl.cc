// Stable Diffusion XL and its refiner.
#include "arch/images/list.h"
#include "arch/images/unets.h"

namespace modelutils::arch::images {

constexpr ImageClass sdxl_classes[] = {{"UNet2DConditionModel"}};

constexpr ImageVariant sdxl_variants[] = {{.name = "refiner", .width = 384, .text_encoders = "CLIP-G"},
                                          {.name = "inpainting", .inputs = 9}};

constexpr ImageModel sdxl = {
    .name = "sdxl",
    .title = "Stable Diffusion XL",
    .detect =
        "label_emb.0.0.weight|"
        "input_blocks.3.0.op.weight input_blocks.6.0.op.weight output_blocks.2.2.conv.weight "
        "output_blocks.5.2.conv.weight|"
        "down_blocks.0.downsamplers.0.conv.weight add_embedding.linear_1.weight",
    .stays = unet_stays,
    .has_rows_of_256 = true,
    .stacks = "input_blocks output_blocks down_blocks up_blocks",
    .input_tensor = "input_blocks.0.0.weight|conv_in.weight",
    .text_tensor =
        "input_blocks.4.1.transformer_blocks.0.attn2.to_k.weight|down_blocks.1.attentions.0.transformer_blocks.0.attn2."
        "to_k.weight",
    .text_encoders = "CLIP-L, CLIP-G",
    .vae = "SDXL",
    .classes = sdxl_classes,
    .variants = sdxl_variants,
};

}  // namespace modelutils::arch::images
