// PaddleOCR-VL: SigLIP for images of any size, and a projector that merges four patches.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::paddleocr {

static std::optional<u64> largest_image(const hf::Config& config, const Sizes& /*sizes*/) {
  const auto pixels = config.count_field(most_pixels);
  if (!pixels || *pixels > (u64{1} << 40)) return std::nullopt;
  return static_cast<u64>(std::sqrt(static_cast<double>(*pixels)));
}

// The table of positions is square.
static Status describe(ConfigWriter& out) {
  const auto side = static_cast<u64>(std::sqrt(static_cast<double>(out.size("N"))));
  out.set("vision_config.image_size", side * out.size("P"));
  out.set("vision_config.architectures", hf::config_list(std::vector<std::string>{"PaddleOCRVisionModel"}));
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = {};
  named(rows, "vision.image_size").derive = largest_image;
  return rows;
}();
constexpr Key more[] = {
    use_gelu,
    vision_epsilon("rms_norm_eps|text_config.rms_norm_eps", "1e-6"),
    unwritten_size(merge_size, "M", "2"),
};
constexpr auto layer = [] {
  auto rows = siglip_layer;
  named(rows, "attn_q").source = "[mlx] self_attn.qkv{t:3 r:E -> t=0 r} | self_attn.q_proj";
  named(rows, "attn_k").source = "[mlx] self_attn.qkv{t:3 r:E -> t=1 r} | self_attn.k_proj";
  named(rows, "attn_v").source = "[mlx] self_attn.qkv{t:3 r:E -> t=2 r} | self_attn.v_proj";
  return rows;
}();
constexpr auto outside = [] {
  auto rows = siglip_outside;
  named(rows, "v.position_embd").ne = "E,N";
  return rows;
}();
constexpr Tensor projector[] = {
    norm("mm.input_norm", "E", "pre_norm"),
    linear("mm.1", "E*M*M,A", "linear_1"),
    linear("mm.2", "A,T", "linear_2"),
};

constexpr ProjectorFamily paddleocr = {
    .rows = {.name = "paddleocr",
             .gguf = "clip",
             .classes = "PaddleOCRVLForConditionalGeneration|PaddleOCRVisionModel",
             .model_types = {},
             .keys = {keys, pixel_limit_keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "paddleocr_vl"},
                                    {"vision_config.spatial_merge_size", "=M"},
                                    {"vision_config.temporal_patch_size", "2"},
                                    {"vision_config.num_channels", "3"}},
                        .describe = describe,
                        .model_type = "paddleocr_vl",
                        .hf_text_prefix = "model."}},
    .encoder = "vision",
    .roots = {"[mlx] visual.|visual.vision_model.|model.visual.vision_model.|model.visual.",
              "[mlx] visual.projector.|mlp_AR.|model.mlp_AR."},
    .groups = {{.gguf = "v.blk.#.", .source = "[mlx] layers.#.|encoder.layers.#.", .rows = layer, .count = "L"},
               {.rows = outside},
               {.rows = projector, .root = 1}},
    .left_out = "embeddings.packing_position_embedding.|head.",
    .token_members =
        "image_token_id=<|IMAGE_PLACEHOLDER|>|video_token_id=<|video_pad|>|"
        "vision_start_token_id=<|IMAGE_START|>|vision_end_token_id=<|IMAGE_END|>",
    .text_object = top_level,
};
MU_PROJECTOR(paddleocr);

}  // namespace modelutils::arch::towers::paddleocr
