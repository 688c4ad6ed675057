// Cosmos Predict2, Anima. Cosmos 1 has other names.
#include "arch/images/list.h"

namespace modelutils::arch::images {

constexpr ImageNames cosmos_names[] = {
    {.rows = "time_embed.norm=t_embedding_norm patch_embed.proj=x_embedder.proj.1 "
             "norm_out.linear_1=final_layer.adaln_modulation.1 norm_out.linear_2=final_layer.adaln_modulation.2 "
             "proj_out=final_layer.linear time_embed.t_embedder.linear_1=t_embedder.1.linear_1 "
             "time_embed.t_embedder.linear_2=t_embedder.1.linear_2"},
    {"transformer_blocks.#.", "blocks.#.",
     "norm1.linear_1=adaln_modulation_self_attn.1 norm1.linear_2=adaln_modulation_self_attn.2 "
     "norm2.linear_1=adaln_modulation_cross_attn.1 norm2.linear_2=adaln_modulation_cross_attn.2 "
     "norm3.linear_1=adaln_modulation_mlp.1 norm3.linear_2=adaln_modulation_mlp.2 attn1.to_q=self_attn.q_proj "
     "attn1.to_k=self_attn.k_proj attn1.to_v=self_attn.v_proj attn1.to_out.0=self_attn.output_proj "
     "attn1.norm_q=self_attn.q_norm attn1.norm_k=self_attn.k_norm attn2.to_q=cross_attn.q_proj "
     "attn2.to_k=cross_attn.k_proj attn2.to_v=cross_attn.v_proj attn2.to_out.0=cross_attn.output_proj "
     "attn2.norm_q=cross_attn.q_norm attn2.norm_k=cross_attn.k_norm ff.net.0.proj=mlp.layer1 ff.net.2=mlp.layer2"},
};
constexpr ImageClass cosmos_classes[] = {{"CosmosTransformer3DModel", cosmos_names}};

constexpr ImageVariant cosmos_variants[] = {
    {.name = "Anima", .parts = "llm_adapter.", .text_encoders = "Qwen3 0.6B", .vae = "Qwen-Image"}};

constexpr ImageModel cosmos = {
    .name = "cosmos",
    .title = "Cosmos Predict2",
    .detect = "blocks.0.mlp.layer1.weight blocks.0.adaln_modulation_cross_attn.1.weight",
    .f32 = "pos_embedder",
    .stays = "p_embedder. t_embedder. t_embedding_norm. x_embedder. pos_embedder. final_layer.",
    .left_out = "_extra_state accum_",
    .stacks = "blocks",
    .input_tensor = "x_embedder.proj.1.weight",
    .text_tensor = "blocks.0.cross_attn.k_proj.weight",
    .text_encoders = "T5-XXL 1.0",
    .vae = "Wan 2.1",
    .classes = cosmos_classes,
    .variants = cosmos_variants,
};

}  // namespace modelutils::arch::images
