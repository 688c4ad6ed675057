// The list that Stable Diffusion 1 and XL share.
#pragma once

#include <string_view>

namespace modelutils::arch::images {

inline constexpr std::string_view unet_stays =
    "class_embedding. time_embedding. add_embedding. time_embed. label_emb. conv_in. conv_out. "
    "=input_blocks.0.0.weight "
    "=out.2.weight";

}  // namespace modelutils::arch::images
