// Stable Diffusion 1 and 2.
#include "arch/images/list.h"
#include "arch/images/unets.h"

namespace modelutils::arch::images {

constexpr ImageClass sd1_classes[] = {{"UNet2DConditionModel"}};

constexpr ImageVariant sd1_variants[] = {{.name = "SD 2", .text = 1024, .text_encoders = "OpenCLIP-H"},
                                         {.name = "inpainting", .inputs = 9},
                                         {.name = "InstructPix2Pix", .inputs = 8}};

constexpr ImageModel sd1 = {
    .name = "sd1",
    .title = "Stable Diffusion",
    .detect =
        "input_blocks.3.0.op.weight input_blocks.6.0.op.weight input_blocks.9.0.op.weight "
        "output_blocks.2.1.conv.weight output_blocks.5.2.conv.weight output_blocks.8.2.conv.weight|"
        "down_blocks.0.downsamplers.0.conv.weight",
    .stays = unet_stays,
    .has_rows_of_256 = true,
    .stacks = "input_blocks output_blocks down_blocks up_blocks",
    .input_tensor = "input_blocks.0.0.weight|conv_in.weight",
    .text_tensor =
        "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight|down_blocks.0.attentions.0.transformer_blocks.0.attn2."
        "to_k.weight",
    .text_encoders = "CLIP-L",
    .vae = "SD1",
    .classes = sd1_classes,
    .variants = sd1_variants,
};

}  // namespace modelutils::arch::images
