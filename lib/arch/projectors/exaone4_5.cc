// EXAONE 4.5: like Qwen2.5-VL, but with fewer KV heads.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::exaone4_5 {

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fallback = "560";
  return rows;
}();
constexpr Key more[] = {
    use_silu,
    {.name = "vision.attention.head_count_kv",
     .fields = "vision_config.num_key_value_heads",
     .symbol = "K",
     .fallback = "H",
     .missing = Missing::assume},
    vision_epsilon("vision_config.rms_norm_eps|rms_norm_eps|text_config.rms_norm_eps", "1e-6"),
    {.name = "vision.window_size", .fields = "vision_config.window_size"},
    {.name = "vision.n_wa_pattern",
     .fields = "vision_config.fullatt_block_indexes",
     .write = write_window_pattern,
     .read = read_window_pattern},
    unwritten_size(merge_size, "M", "2"),
};
constexpr std::array<Tensor, 2> attention = {{
    linear("attn_qkv", "E,E+2*K*(E/H)", "attn.qkv"),
    linear("attn_out", "E,E", "attn.proj"),
}};
constexpr auto layer = joined(rms_norms_of_blocks, attention, gated_blocks);
constexpr std::array<Tensor, 1> end = {{norm("v.post_ln", "E", "merger.ln_q", Need::absent)}};
constexpr auto outside = joined(patch_of_two, end, merger_of_qwen2);

constexpr ProjectorFamily exaone4_5 = {
    .rows = {.name = "exaone4_5",
             .gguf = "clip",
             .classes = "Exaone4_5_ForConditionalGeneration",
             .model_types = {},
             .keys = {keys, pixel_limit_keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_silu()},
             .relations = {whole_vision_heads},
             .config = {.fields = "vision_config.depth|vision_config.num_heads|vision_config.hidden_size",
                        .members = {{"vision_config.model_type", "exaone4_5_vision"},
                                    {"vision_config.spatial_merge_size", "=M"},
                                    {"vision_config.out_hidden_size", "=T"},
                                    {"vision_config.temporal_patch_size", "2"},
                                    {"vision_config.tokens_per_second", "2"},
                                    {"vision_config.in_channels", "3"}},
                        .model_type = "exaone4_5"}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.|model.visual.|visual."},
    .groups = {blocks(layer), {.rows = outside}},
    .token_members = "image_token_id=<|image_pad|>|video_token_id=<|video_pad|>",
};
MU_PROJECTOR(exaone4_5);

}  // namespace modelutils::arch::towers::exaone4_5
