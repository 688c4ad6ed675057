// AuraFlow, Pony 7.
#include "arch/images/list.h"

namespace modelutils::arch::images {

constexpr ImageNames aura_names[] = {
    {.rows = "register_tokens pos_embed.pos_embed=positional_encoding pos_embed.proj=init_x_linear "
             "time_step_proj.linear_1=t_embedder.mlp.0 time_step_proj.linear_2=t_embedder.mlp.2 "
             "context_embedder=cond_seq_linear proj_out=final_linear norm_out.linear=~modF.1"},
    {"joint_transformer_blocks.#.", "double_layers.#.",
     "ff.linear_1=mlpX.c_fc1 ff.linear_2=mlpX.c_fc2 ff.out_projection=mlpX.c_proj ff_context.linear_1=mlpC.c_fc1 "
     "ff_context.linear_2=mlpC.c_fc2 ff_context.out_projection=mlpC.c_proj norm1.linear=modX.1 "
     "norm1_context.linear=modC.1 attn.to_q=attn.w2q attn.to_k=attn.w2k attn.to_v=attn.w2v attn.to_out.0=attn.w2o "
     "attn.add_q_proj=attn.w1q attn.add_k_proj=attn.w1k attn.add_v_proj=attn.w1v attn.to_add_out=attn.w1o"},
    {"single_transformer_blocks.#.", "single_layers.#.",
     "ff.linear_1=mlp.c_fc1 ff.linear_2=mlp.c_fc2 ff.out_projection=mlp.c_proj norm1.linear=modCX.1 "
     "attn.to_q=attn.w1q attn.to_k=attn.w1k attn.to_v=attn.w1v attn.to_out.0=attn.w1o"},
};
constexpr ImageClass aura_classes[] = {{"AuraFlowTransformer2DModel", aura_names}};

constexpr ImageVariant aura_variants[] = {{.name = "Pony 7", .word = "pony"}};

constexpr ImageModel aura = {
    .name = "aura",
    .title = "AuraFlow",
    .detect = "double_layers.3.modX.1.weight",
    .stays = "t_embedder. init_x_linear. =modF.1.weight =cond_seq_linear.weight =final_linear.weight",
    .stacks = "double_layers single_layers",
    .input_tensor = "init_x_linear.weight",
    .text_tensor = "cond_seq_linear.weight",
    .text_encoders = "Pile-T5-XL",
    .vae = "SDXL",
    .classes = aura_classes,
    .variants = aura_variants,
};

}  // namespace modelutils::arch::images
