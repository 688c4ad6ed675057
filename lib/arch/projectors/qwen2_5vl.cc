// Qwen2.5-VL and the vision tower of Qwen2.5-Omni: like Qwen2-VL with RMS norms, gates and windows.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::qwen2_5vl {

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fallback = "560";
  return rows;
}();
constexpr Key more[] = {
    use_silu,
    {.name = "vision.n_wa_pattern",
     .fields = "vision_config.fullatt_block_indexes",
     .need = Need::required,
     .write = write_window_pattern,
     .read = read_window_pattern},
    vision_epsilon("rms_norm_eps|text_config.rms_norm_eps", "1e-6"),
    unwritten_size(merge_size, "M", "2"),
};
constexpr auto layer = joined(rms_norms_of_blocks, qwen_attention, gated_blocks);
constexpr std::array<Tensor, 1> end = {{norm("v.post_ln", "E", "merger.ln_q", Need::absent)}};
constexpr auto outside = joined(patch_of_two, end, merger_of_qwen2);
constexpr Family rows = {.name = "qwen2.5vl_merger",
                         .gguf = "clip",
                         .classes = "Qwen2_5_VLForConditionalGeneration",
                         .model_types = {},
                         .keys = {keys, more},
                         .first_tensors = {},
                         .last_tensors = {},
                         .fixed = {only_silu()},
                         .relations = {whole_vision_heads},
                         .config = {.fields = "vision_config.depth|vision_config.num_heads|vision_config.hidden_size",
                                    .members = {{"vision_config.model_type", "qwen2_5_vl"},
                                                {"vision_config.spatial_merge_size", "=M"},
                                                {"vision_config.out_hidden_size", "=T"},
                                                {"vision_config.temporal_patch_size", "2"},
                                                {"vision_config.tokens_per_second", "2"},
                                                {"vision_config.window_size", "112"},
                                                {"vision_config.in_channels", "3"}},
                                    .model_type = "qwen2_5_vl",
                                    .text_model_type = "qwen2_5_vl_text",
                                    .hf_text_prefix = "model."}};

constexpr ProjectorFamily qwen2_5vl = {
    .rows = rows,
    .encoder = "vision",
    .roots = {"visual.|model.visual.|model.language_model.visual.|[mlx] vision_tower.|model.vision_tower."},
    .groups = {blocks(layer), {.rows = outside}},
    .token_members =
        "image_token_id=<|image_pad|>|video_token_id=<|video_pad|>|"
        "vision_start_token_id=<|vision_start|>|vision_end_token_id=<|vision_end|>",
};
MU_PROJECTOR(qwen2_5vl);

constexpr ProjectorFamily qwen2_5omni = [] {
  ProjectorFamily family = qwen2_5vl;
  family.rows.classes =
      "Qwen2_5OmniModel|Qwen2_5OmniForConditionalGeneration|Qwen2_5OmniThinkerForConditionalGeneration";
  // By default of the class, the last of every eight layers has full attention.
  family.roots = {"thinker.visual.|visual.|[mlx] thinker.vision_tower."};
  family.rows.config.members = {{"vision_config.model_type", "qwen2_5_omni_vision_encoder"},
                                {"vision_config.spatial_merge_size", "=M"},
                                {"vision_config.out_hidden_size", "=T"},
                                {"vision_config.temporal_patch_size", "2"},
                                {"vision_config.tokens_per_second", "25"},
                                {"vision_config.window_size", "112"},
                                {"vision_config.in_channels", "3"},
                                {"position_id_per_seconds", "25"},
                                {"enable_audio_output", "false"}};
  family.rows.config.model_type = "qwen2_5_omni";
  family.rows.config.text_model_type = "qwen2_5_omni_text";
  family.rows.config.mlx_text_prefix = "thinker.language_model.model.|thinker.language_model.";
  family.rows.config.hf_text_prefix = "thinker.model.|thinker.";
  family.token_members =
      "image_token_index=<|IMAGE|>|video_token_index=<|VIDEO|>|audio_token_index=<|AUDIO|>|"
      "vision_start_token_id=<|vision_bos|>|vision_end_token_id=<|vision_eos|>|"
      "audio_start_token_id=<|audio_bos|>|audio_end_token_id=<|audio_eos|>";
  family.joint_type = "qwen2.5o";
  family.outer_object = "thinker_config";
  return family;
}();
MU_PROJECTOR(qwen2_5omni);

}  // namespace modelutils::arch::towers::qwen2_5vl
