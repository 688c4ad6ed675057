// HunyuanVideo 1 and 1.5, HunyuanImage.
#include "arch/images/list.h"

namespace modelutils::arch::images {

constexpr ImageNames hyvid_names[] = {
    {.rows = "x_embedder.proj=img_in.proj time_text_embed.timestep_embedder.linear_1=time_in.mlp.0 "
             "time_text_embed.timestep_embedder.linear_2=time_in.mlp.2 "
             "time_text_embed.guidance_embedder.linear_1=guidance_in.mlp.0 "
             "time_text_embed.guidance_embedder.linear_2=guidance_in.mlp.2 "
             "time_text_embed.text_embedder.linear_1=vector_in.in_layer "
             "time_text_embed.text_embedder.linear_2=vector_in.out_layer "
             "context_embedder.proj_in=txt_in.input_embedder "
             "context_embedder.time_text_embed.timestep_embedder.linear_1=txt_in.t_embedder.mlp.0 "
             "context_embedder.time_text_embed.timestep_embedder.linear_2=txt_in.t_embedder.mlp.2 "
             "context_embedder.time_text_embed.text_embedder.linear_1=txt_in.c_embedder.linear_1 "
             "context_embedder.time_text_embed.text_embedder.linear_2=txt_in.c_embedder.linear_2 "
             "proj_out=final_layer.linear norm_out.linear=~final_layer.adaLN_modulation.1"},
    {"context_embedder.token_refiner.refiner_blocks.#.", "txt_in.individual_token_refiner.blocks.#.",
     "norm1 norm2 attn.to_q+attn.to_k+attn.to_v=self_attn_qkv attn.to_out.0=self_attn_proj ff.net.0.proj=mlp.fc1 "
     "ff.net.2=mlp.fc2 norm_out.linear=adaLN_modulation.1"},
    {"transformer_blocks.#.", "double_blocks.#.",
     "norm1.linear=img_mod.linear norm1_context.linear=txt_mod.linear attn.to_q+attn.to_k+attn.to_v=img_attn_qkv "
     "attn.add_q_proj+attn.add_k_proj+attn.add_v_proj=txt_attn_qkv attn.norm_q=img_attn_q_norm "
     "attn.norm_k=img_attn_k_norm attn.norm_added_q=txt_attn_q_norm attn.norm_added_k=txt_attn_k_norm "
     "attn.to_out.0=img_attn_proj attn.to_add_out=txt_attn_proj ff.net.0.proj=img_mlp.fc1 ff.net.2=img_mlp.fc2 "
     "ff_context.net.0.proj=txt_mlp.fc1 ff_context.net.2=txt_mlp.fc2"},
    {"single_transformer_blocks.#.", "single_blocks.#.",
     "attn.to_q+attn.to_k+attn.to_v+proj_mlp=linear1 proj_out=linear2 attn.norm_q=q_norm attn.norm_k=k_norm "
     "norm.linear=modulation.linear"},
};
constexpr ImageClass hyvid_classes[] = {{"HunyuanVideoTransformer3DModel", hyvid_names}};

constexpr ImageVariant hyvid_variants[] = {
    {.name = "1.5", .parts = "vision_in.", .text_encoders = "Qwen2.5-VL 7B, ByT5", .vae = "HunyuanVideo 1.5"},
    {.name = "HunyuanImage",
     .parts = "byt5_in. !vision_in.",
     .text_encoders = "Qwen2.5-VL 7B, ByT5",
     .vae = "HunyuanImage"},
    {.name = "i2v", .inputs = 33},
    {.name = "SkyReels i2v", .inputs = 32}};

constexpr ImageModel hyvid = {
    .name = "hyvid",
    .title = "HunyuanVideo",
    .detect = "double_blocks.0.img_attn_proj.weight txt_in.individual_token_refiner.blocks.1.self_attn_qkv.weight",
    .stays = "txt_in. img_in. time_in. vector_in. guidance_in. final_layer. cond_type_embedding.",
    .is_video = true,
    .stacks = "double_blocks single_blocks",
    .input_tensor = "img_in.proj.weight",
    .text_tensor = "txt_in.input_embedder.weight",
    .text_encoders = "CLIP-L, LLaVA Llama 3 8B",
    .vae = "HunyuanVideo",
    .classes = hyvid_classes,
    .variants = hyvid_variants,
};

}  // namespace modelutils::arch::images
