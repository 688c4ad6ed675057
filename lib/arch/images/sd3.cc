// Stable Diffusion 3 and 3.5.
#include "arch/images/list.h"

namespace modelutils::arch::images {

constexpr ImageNames sd3_names[] = {
    {.rows = "pos_embed.pos_embed=pos_embed pos_embed.proj=x_embedder.proj "
             "time_text_embed.timestep_embedder.linear_1=t_embedder.mlp.0 "
             "time_text_embed.timestep_embedder.linear_2=t_embedder.mlp.2 "
             "time_text_embed.text_embedder.linear_1=y_embedder.mlp.0 "
             "time_text_embed.text_embedder.linear_2=y_embedder.mlp.2 context_embedder proj_out=final_layer.linear "
             "norm_out.linear=~final_layer.adaLN_modulation.1"},
    {"transformer_blocks.#.", "joint_blocks.#.",
     "attn.to_q+attn.to_k+attn.to_v=x_block.attn.qkv "
     "attn.add_q_proj+attn.add_k_proj+attn.add_v_proj=context_block.attn.qkv attn.norm_q=x_block.attn.ln_q "
     "attn.norm_k=x_block.attn.ln_k attn.norm_added_q=context_block.attn.ln_q "
     "attn.norm_added_k=context_block.attn.ln_k attn.to_out.0=x_block.attn.proj "
     "attn.to_add_out=context_block.attn.proj "
     "attn2.to_q+attn2.to_k+attn2.to_v=x_block.attn2.qkv attn2.norm_q=x_block.attn2.ln_q "
     "attn2.norm_k=x_block.attn2.ln_k attn2.to_out.0=x_block.attn2.proj norm1.linear=x_block.adaLN_modulation.1 "
     "norm1_context.linear=^context_block.adaLN_modulation.1 ff.net.0.proj=x_block.mlp.fc1 ff.net.2=x_block.mlp.fc2 "
     "ff_context.net.0.proj=context_block.mlp.fc1 ff_context.net.2=context_block.mlp.fc2"},
};
constexpr ImageClass sd3_classes[] = {{"SD3Transformer2DModel", sd3_names}};

constexpr ImageVariant sd3_variants[] = {{.name = "3.5 medium", .parts = "x_block.attn2."},
                                         {.name = "3.5 large", .parts = "x_block.attn.ln_q. !x_block.attn2."}};

constexpr ImageModel sd3 = {
    .name = "sd3",
    .title = "Stable Diffusion 3",
    .detect = "joint_blocks.0.x_block.attn.qkv.weight",
    .stays = "final_layer. time_text_embed. context_embedder. t_embedder. y_embedder. x_embedder. =proj_out.weight",
    .stacks = "joint_blocks",
    .input_tensor = "x_embedder.proj.weight",
    .text_tensor = "context_embedder.weight",
    .text_encoders = "CLIP-L, CLIP-G, T5-XXL",
    .vae = "SD3",
    .classes = sd3_classes,
    .variants = sd3_variants,
};

}  // namespace modelutils::arch::images
