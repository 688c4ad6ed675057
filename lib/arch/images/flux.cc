// Flux 1 (dev, schnell, Fill, Kontext, Krea), Flux 2, and Chroma.
#include "arch/images/list.h"

namespace modelutils::arch::images {

#define MU_FLUX_ATTENTION                                                                              \
  "attn.to_q+attn.to_k+attn.to_v=img_attn.qkv "                                                        \
  "attn.add_q_proj+attn.add_k_proj+attn.add_v_proj=txt_attn.qkv "                                      \
  "attn.norm_q.weight=img_attn.norm.query_norm.scale attn.norm_k.weight=img_attn.norm.key_norm.scale " \
  "attn.norm_added_q.weight=txt_attn.norm.query_norm.scale "                                           \
  "attn.norm_added_k.weight=txt_attn.norm.key_norm.scale "                                             \
  "attn.to_out.0=img_attn.proj attn.to_add_out=txt_attn.proj "
#define MU_FLUX_FEED_FORWARD \
  "ff.net.0.proj=img_mlp.0 ff.net.2=img_mlp.2 ff_context.net.0.proj=txt_mlp.0 ff_context.net.2=txt_mlp.2"
#define MU_FLUX_SINGLE                                                                       \
  "attn.to_q+attn.to_k+attn.to_v+proj_mlp=linear1 attn.norm_q.weight=norm.query_norm.scale " \
  "attn.norm_k.weight=norm.key_norm.scale proj_out=linear2"

constexpr ImageNames flux_names[] = {
    {.rows = "time_text_embed.timestep_embedder.linear_1=time_in.in_layer "
             "time_text_embed.timestep_embedder.linear_2=time_in.out_layer "
             "time_text_embed.text_embedder.linear_1=vector_in.in_layer "
             "time_text_embed.text_embedder.linear_2=vector_in.out_layer "
             "time_text_embed.guidance_embedder.linear_1=guidance_in.in_layer "
             "time_text_embed.guidance_embedder.linear_2=guidance_in.out_layer context_embedder=txt_in "
             "x_embedder=img_in proj_out=final_layer.linear norm_out.linear=~final_layer.adaLN_modulation.1"},
    {"transformer_blocks.#.", "double_blocks.#.",
     "norm1.linear=img_mod.lin norm1_context.linear=txt_mod.lin " MU_FLUX_ATTENTION MU_FLUX_FEED_FORWARD},
    {"single_transformer_blocks.#.", "single_blocks.#.", "norm.linear=modulation.lin " MU_FLUX_SINGLE},
};
constexpr ImageNames chroma_names[] = {
    {.rows = "distilled_guidance_layer.in_proj distilled_guidance_layer.out_proj context_embedder=txt_in "
             "x_embedder=img_in proj_out=final_layer.linear"},
    {"distilled_guidance_layer.layers.#.", "distilled_guidance_layer.layers.#.",
     "linear_1=in_layer linear_2=out_layer"},
    {"distilled_guidance_layer.norms.#.", "distilled_guidance_layer.norms.#.", "weight=scale"},
    {"transformer_blocks.#.", "double_blocks.#.", MU_FLUX_ATTENTION MU_FLUX_FEED_FORWARD},
    {"single_transformer_blocks.#.", "single_blocks.#.", MU_FLUX_SINGLE},
};
constexpr ImageNames flux2_names[] = {
    {.rows = "time_guidance_embed.timestep_embedder.linear_1=time_in.in_layer "
             "time_guidance_embed.timestep_embedder.linear_2=time_in.out_layer "
             "time_guidance_embed.guidance_embedder.linear_1=guidance_in.in_layer "
             "time_guidance_embed.guidance_embedder.linear_2=guidance_in.out_layer "
             "double_stream_modulation_img.linear=double_stream_modulation_img.lin "
             "double_stream_modulation_txt.linear=double_stream_modulation_txt.lin "
             "single_stream_modulation.linear=single_stream_modulation.lin context_embedder=txt_in x_embedder=img_in "
             "proj_out=final_layer.linear norm_out.linear=~final_layer.adaLN_modulation.1"},
    {"transformer_blocks.#.", "double_blocks.#.",
     MU_FLUX_ATTENTION "ff.linear_in=img_mlp.0 ff.linear_out=img_mlp.2 ff_context.linear_in=txt_mlp.0 "
                       "ff_context.linear_out=txt_mlp.2"},
    {"single_transformer_blocks.#.", "single_blocks.#.",
     "attn.to_qkv_mlp_proj=linear1 attn.to_out=linear2 attn.norm_q.weight=norm.query_norm.scale "
     "attn.norm_k.weight=norm.key_norm.scale"},
};
#undef MU_FLUX_ATTENTION
#undef MU_FLUX_FEED_FORWARD
#undef MU_FLUX_SINGLE
constexpr ImageClass flux_classes[] = {{"FluxTransformer2DModel", flux_names},
                                       {"ChromaTransformer2DModel", chroma_names},
                                       {"Flux2Transformer2DModel", flux2_names}};

constexpr ImageVariant flux_variants[] = {
    {.name = "Chroma", .parts = "distilled_guidance_layer. !nerf_", .text_encoders = "T5-XXL"},
    {.name = "Chroma Radiance", .parts = "nerf_", .text_encoders = "T5-XXL", .vae = "none"},
    {.name = "Flux 2",
     .parts = "double_stream_modulation_img.lin.weight",
     .text_encoders = "Mistral Small 3.2 24B",
     .vae = "Flux 2"},
    {.name = "klein 4B", .parts = "double_stream_modulation_img.lin.weight", .text = 7680, .text_encoders = "Qwen3 4B"},
    {.name = "klein 9B",
     .parts = "double_stream_modulation_img.lin.weight",
     .text = 12288,
     .text_encoders = "Qwen3 8B"},
    {.name = "schnell",
     .parts = "time_in. !guidance_in. !distilled_guidance_layer. !double_stream_modulation_img",
     .text = 4096},
    {.name = "Fill", .inputs = 384},
    {.name = "Canny or Depth", .parts = "!double_stream_modulation_img", .inputs = 128},
    {.name = "Kontext", .word = "kontext"},
    {.name = "Krea", .word = "krea"},
    {.name = "Ovis-Image", .text = 2048, .text_encoders = "Ovis 2.5 2B"},
    {.name = "LongCat-Image", .text = 3584, .text_encoders = "Qwen2.5-VL 7B"}};

constexpr ImageModel flux = {
    .name = "flux",
    .title = "Flux",
    .detect = "double_blocks.0.img_attn.proj.weight",
    .stays =
        "txt_in. img_in. time_in. vector_in. guidance_in. final_layer. single_stream_modulation. "
        "double_stream_modulation_",
    .stacks = "double_blocks single_blocks",
    .input_tensor = "img_in.weight",
    .text_tensor = "txt_in.weight",
    .text_encoders = "CLIP-L, T5-XXL",
    .vae = "Flux (ae)",
    .classes = flux_classes,
    .variants = flux_variants,
};

}  // namespace modelutils::arch::images
