// Qwen2-VL: kernels over two pictures, separate queries, keys and values, a merger of four patches.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::qwen2vl {

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fallback = "560";
  named(rows, "vision.embedding_length").fields = "vision_config.embed_dim|vision_config.hidden_size";
  // hidden_size is the text model's width here; the runtime reads the tower's width from the tensors.
  named(rows, "vision.feed_forward_length").fields = "vision_config.intermediate_size|vision_config.hidden_size";
  named(rows, "vision.feed_forward_length").symbol = {};
  return rows;
}();
constexpr Key more[] = {
    vision_epsilon("rms_norm_eps|text_config.rms_norm_eps", "1e-6"),
    unwritten_size(merge_size, "M", "2"),
};
constexpr std::array<Tensor, 2> feed_forward = {
    {linear("ffn_up", "E,F", "mlp.fc1"), linear("ffn_down", "F,E", "mlp.fc2")}};
constexpr auto layer = joined(norms_of_blocks, qwen_attention, feed_forward);
constexpr std::array<Tensor, 1> end = {{norm("v.post_ln", "E", "merger.ln_q")}};
constexpr auto outside = joined(patch_of_two, end, merger_of_qwen2);

constexpr ProjectorFamily qwen2vl = {
    .rows =
        {.name = "qwen2vl_merger",
         .gguf = "clip",
         .classes = "Qwen2VLForConditionalGeneration|Qwen2VLModel",
         .model_types = {},
         .keys = {keys, more},
         .first_tensors = {},
         .last_tensors = {},
         .fixed = {only_quick_gelu()},
         .relations = {whole_vision_heads},
         .config = {.fields =
                        "vision_config.embed_dim|vision_config.hidden_size|vision_config.depth|vision_config.num_heads",
                    .members = {{"vision_config.model_type", "qwen2_vl"},
                                {"vision_config.spatial_merge_size", "=M"},
                                {"vision_config.temporal_patch_size", "2"},
                                {"vision_config.mlp_ratio", "=F/E"},
                                {"vision_config.in_channels", "3"}},
                    .model_type = "qwen2_vl",
                    .text_model_type = "qwen2_vl_text",
                    .hf_text_prefix = "model."}},
    .encoder = "vision",
    .roots = {"visual.|model.visual.|model.language_model.visual.|[mlx] vision_tower.|model.vision_tower."},
    .groups = {blocks(layer), {.rows = outside}},
    .token_members =
        "image_token_id=<|image_pad|>|video_token_id=<|video_pad|>|"
        "vision_start_token_id=<|vision_start|>|vision_end_token_id=<|vision_end|>",
};
MU_PROJECTOR(qwen2vl);

}  // namespace modelutils::arch::towers::qwen2vl
