// LTX-Video, LTX-2. LTX-2.3 has no caption_projection.
#include "arch/images/list.h"

namespace modelutils::arch::images {

constexpr ImageNames ltxv_names[] = {
    {.rows = "proj_in=patchify_proj proj_out scale_shift_table caption_projection.linear_1 "
             "caption_projection.linear_2 time_embed.linear=adaln_single.linear "
             "time_embed.emb.timestep_embedder.linear_1=adaln_single.emb.timestep_embedder.linear_1 "
             "time_embed.emb.timestep_embedder.linear_2=adaln_single.emb.timestep_embedder.linear_2"},
    {"transformer_blocks.#.", "transformer_blocks.#.",
     "attn1.to_q attn1.to_k attn1.to_v attn1.to_out.0 attn1.norm_q=attn1.q_norm attn1.norm_k=attn1.k_norm attn2.to_q "
     "attn2.to_k attn2.to_v attn2.to_out.0 attn2.norm_q=attn2.q_norm attn2.norm_k=attn2.k_norm ff.net.0.proj ff.net.2 "
     "scale_shift_table"},
};
constexpr ImageClass ltxv_classes[] = {{"LTXVideoTransformer3DModel", ltxv_names}};

#define MU_LTXV_NAMES "adaln_single.emb.timestep_embedder.linear_2.weight transformer_blocks.27.scale_shift_table "
constexpr ImageVariant ltxv_variants[] = {{.name = "LTX-2",
                                           .parts = "audio_patchify_proj.",
                                           .text_encoders = "Gemma 3 12B",
                                           .vae = "LTX-2, for video and audio"}};

constexpr ImageModel ltxv = {
    .name = "ltxv",
    .title = "LTX-Video",
    .detect = MU_LTXV_NAMES "caption_projection.linear_2.weight|" MU_LTXV_NAMES "patchify_proj.weight",
    .f32 = "scale_shift_table",
    .stays = "adaln_single. caption_projection. patchify_proj. proj_out. scale_shift_table",
    .stacks = "transformer_blocks",
    .input_tensor = "patchify_proj.weight",
    .text_tensor = "caption_projection.linear_1.weight",
    .text_encoders = "T5-XXL",
    .vae = "LTX-Video",
    .classes = ltxv_classes,
    .variants = ltxv_variants,
};
#undef MU_LTXV_NAMES

}  // namespace modelutils::arch::images
