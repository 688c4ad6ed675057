// Wan 2.1 and 2.2.
#include "arch/images/list.h"

namespace modelutils::arch::images {

constexpr ImageNames wan_names[] = {
    {.rows = "patch_embedding condition_embedder.time_embedder.linear_1=time_embedding.0 "
             "condition_embedder.time_embedder.linear_2=time_embedding.2 "
             "condition_embedder.text_embedder.linear_1=text_embedding.0 "
             "condition_embedder.text_embedder.linear_2=text_embedding.2 "
             "condition_embedder.time_proj=time_projection.1 scale_shift_table=head.modulation proj_out=head.head "
             "condition_embedder.image_embedder.norm1=img_emb.proj.0 "
             "condition_embedder.image_embedder.ff.net.0.proj=img_emb.proj.1 "
             "condition_embedder.image_embedder.ff.net.2=img_emb.proj.3 "
             "condition_embedder.image_embedder.norm2=img_emb.proj.4"},
    {"blocks.#.", "blocks.#.",
     "attn1.to_q=self_attn.q attn1.to_k=self_attn.k attn1.to_v=self_attn.v attn1.to_out.0=self_attn.o "
     "attn1.norm_q=self_attn.norm_q attn1.norm_k=self_attn.norm_k attn1.add_k_proj=self_attn.k_img "
     "attn1.add_v_proj=self_attn.v_img attn1.norm_added_k=self_attn.norm_k_img attn2.to_q=cross_attn.q "
     "attn2.to_k=cross_attn.k attn2.to_v=cross_attn.v attn2.to_out.0=cross_attn.o attn2.norm_q=cross_attn.norm_q "
     "attn2.norm_k=cross_attn.norm_k attn2.add_k_proj=cross_attn.k_img attn2.add_v_proj=cross_attn.v_img "
     "attn2.norm_added_k=cross_attn.norm_k_img norm2=norm3 norm3=norm2 ffn.net.0.proj=ffn.0 ffn.net.2=ffn.2 "
     "scale_shift_table=modulation"},
};
constexpr ImageClass wan_classes[] = {{"WanTransformer3DModel", wan_names}};

constexpr ImageVariant wan_variants[] = {
    {.name = "t2v", .parts = "!img_emb. !vace_blocks. !casual_audio_encoder. !audio_proj.", .inputs = 16},
    {.name = "i2v", .parts = "img_emb. !img_emb.emb_pos !face_adapter.", .text_encoders = "UMT5-XXL, CLIP vision H"},
    {.name = "i2v 2.2", .parts = "!img_emb. !control_adapter. !vace_blocks.", .inputs = 36},
    {.name = "TI2V 2.2", .inputs = 48, .vae = "Wan 2.2"},
    {.name = "FLF", .parts = "img_emb.emb_pos", .text_encoders = "UMT5-XXL, CLIP vision H"},
    {.name = "VACE", .parts = "vace_blocks."},
    {.name = "S2V", .parts = "casual_audio_encoder.", .text_encoders = "UMT5-XXL, wav2vec 2"},
    {.name = "HuMo", .parts = "audio_proj.", .text_encoders = "UMT5-XXL, Whisper large v3"},
    {.name = "Animate", .parts = "face_adapter.", .text_encoders = "UMT5-XXL, CLIP vision H"},
    {.name = "Camera", .parts = "control_adapter."}};

constexpr ImageModel wan = {
    .name = "wan",
    .title = "Wan",
    .detect = "blocks.0.self_attn.norm_q.weight text_embedding.2.weight head.modulation",
    .f32 =
        ".modulation .encoder.padding_tokens trainable_cond_mask casual_audio_encoder.weights "
        "casual_audio_encoder.encoder.conv",
    .stays =
        "modulation. patch_embedding. text_embedding. time_projection. time_embedding. img_emb. head. "
        "cond_encoder. frame_packer. audio_injector. casual_audio_encoder. trainable_cond_mask.",
    .is_video = true,
    .stacks = "blocks vace_blocks",
    .input_tensor = "patch_embedding.weight",
    .text_tensor = "text_embedding.0.weight",
    .text_encoders = "UMT5-XXL",
    .vae = "Wan 2.1",
    .classes = wan_classes,
    .variants = wan_variants,
};

}  // namespace modelutils::arch::images
