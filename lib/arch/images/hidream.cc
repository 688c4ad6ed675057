// HiDream-I1.
#include "arch/images/list.h"

namespace modelutils::arch::images {

constexpr ImageClass hidream_classes[] = {{"HiDreamImageTransformer2DModel"}};

constexpr ImageModel hidream = {
    .name = "hidream",
    .title = "HiDream",
    .detect = "caption_projection.0.linear.weight double_stream_blocks.0.block.ff_i.shared_experts.w3.weight",
    .f32 = ".ff_i.gate.weight img_emb.emb_pos",
    .stays = "p_embedder. t_embedder. x_embedder. final_layer. .ff_i.gate.weight caption_projection.",
    .stacks = "double_stream_blocks single_stream_blocks",
    .input_tensor = "x_embedder.proj.weight",
    .text_tensor = "caption_projection.0.linear.weight",
    .text_encoders = "CLIP-L, CLIP-G, T5-XXL, Llama 3.1 8B Instruct",
    .vae = "Flux (ae)",
    .classes = hidream_classes,
};

}  // namespace modelutils::arch::images
