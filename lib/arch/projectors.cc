#include "arch/projectors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/types.h"
#include "formats/gguf/document.h"

namespace modelutils::arch {

namespace {

using enum EncoderLayers;

constexpr std::string_view vision = "vision", audio = "audio";
constexpr u64 most_layers = 512;
constexpr std::string_view side = "spatial_merge_size", scale = "projector.scale_factor";
constexpr PatchMerge two_by_key = {side, 2, true};
constexpr std::string_view pixel_limits = "image_min_pixels image_max_pixels";
constexpr std::string_view two_linear = "mm.0.* mm.2.*";
constexpr std::string_view norm_and_two = "mm.input_norm.* mm.1.* mm.2.*";
constexpr std::string_view hunyuan =
    "mm.0.* mm.2.* mm.model.fc.* mm.pre_norm.weight mm.post_norm.weight mm.image_begin mm.image_end v.image_newline";
// clang-format off
constexpr Projector projectors[] = {
    {.name = "mlp", .encoder = vision, .layers = transformer, .tensors = "mm.0.* mm.1.* mm.3.* mm.4.*",
     .width = "mm.3.weight", .first = "mm.0.weight", .second = "mm.3.weight", .when = "mm.3.weight",
     .has_fixed_grid = true, .reorders_feed_forward = true, .looks_up_positions = true},
    {.name = "mlp", .encoder = vision, .layers = transformer, .tensors = "mm.0.weight mm.2.weight",
     .width = "mm.2.weight", .first = "mm.0.weight", .second = "mm.2.weight", .has_fixed_grid = true,
     .reorders_feed_forward = true, .looks_up_positions = true},
    {.name = "ldp", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.mlp.1.* mm.model.mlp.3.* mm.model.mb_block.1.block.0.0.weight "
                "mm.model.mb_block.1.block.0.1.* mm.model.mb_block.1.block.1.fc1.* mm.model.mb_block.1.block.1.fc2.* "
                "mm.model.mb_block.1.block.2.0.weight mm.model.mb_block.1.block.2.1.* "
                "mm.model.mb_block.2.block.0.0.weight mm.model.mb_block.2.block.0.1.* "
                "mm.model.mb_block.2.block.1.fc1.* mm.model.mb_block.2.block.1.fc2.* "
                "mm.model.mb_block.2.block.2.0.weight mm.model.mb_block.2.block.2.1.*",
     .width = "mm.model.mb_block.1.block.2.1.bias", .width_dimension = 0, .first = "mm.model.mlp.1.weight",
     .second = "mm.model.mlp.3.weight", .has_fixed_grid = true, .merge = {{}, 2}, .reorders_feed_forward = true,
     .looks_up_positions = true},
    {.name = "ldpv2", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.mlp.0.* mm.model.mlp.2.* mm.model.peg.0.*", .width = "mm.model.peg.0.bias",
     .width_dimension = 0, .first = "mm.model.mlp.0.weight", .second = "mm.model.mlp.2.weight", .has_fixed_grid = true,
     .merge = {{}, 2}, .reorders_feed_forward = true, .looks_up_positions = true},
    {.name = "resampler", .encoder = vision, .layers = transformer,
     .tensors = "resampler.pos_embed_k resampler.query resampler.proj.weight resampler.kv.weight resampler.attn.q.* "
                "resampler.attn.k.* resampler.attn.v.* resampler.attn.out.* resampler.ln_q.* resampler.ln_kv.* "
                "resampler.ln_post.*", .width = "resampler.proj.weight", .width_dimension = 0,
     .tokens = {.least = 64, .most = 96}, .reorders_feed_forward = true, .looks_up_positions = true},
    {.name = "adapter", .encoder = vision, .layers = transformer,
     .tensors = "adapter.conv.* adapter.linear.linear.weight adapter.linear.norm1.* adapter.linear.gate.weight "
                "adapter.linear.dense_h_to_4h.weight adapter.linear.dense_4h_to_h.weight adapter.boi adapter.eoi",
     .width = "adapter.linear.dense_4h_to_h.weight", .merge = {{}, 2}, .tokens = {.added = 2},
     .reorders_feed_forward = true, .looks_up_positions = true},
    {.name = "qwen2vl_merger", .encoder = vision, .layers = transformer, .tensors = two_linear, .width = "mm.2.weight",
     .first = "mm.0.weight", .second = "mm.2.weight", .merge = two_by_key,
     .tokens = {.least = 8, .most = 4096, .warmup = 2116},
     .reorders_feed_forward = true, .texts = "qwen2vl"},
    {.name = "qwen2.5vl_merger", .encoder = vision, .layers = transformer, .tensors = two_linear,
     .width = "mm.2.weight", .first = "mm.0.weight", .second = "mm.2.weight", .keys = "n_wa_pattern",
     .merge = two_by_key, .tokens = {.least = 8, .most = 4096, .warmup = 2116}, .reorders_feed_forward = true,
     .texts = "qwen2vl"},
    {.name = "qwen3vl_merger", .encoder = vision, .layers = transformer, .tensors = two_linear, .width = "mm.2.weight",
     .first = "mm.0.weight", .second = "mm.2.weight", .merge = two_by_key,
     .tokens = {.least = 8, .most = 4096, .warmup = 2116},
     .resizes_positions = true, .texts = "qwen3vl qwen3vlmoe qwen35 qwen35moe"},
    {.name = "step3vl", .encoder = vision, .layers = transformer,
     .tensors = "mm.0.weight mm.1.weight mm.model.fc.weight", .width = "mm.model.fc.weight", .merge = {scale, 4}},
    {.name = "gemma3", .encoder = vision, .layers = transformer,
     .tensors = "mm.input_projection.weight mm.soft_emb_norm.weight", .width = "mm.input_projection.weight",
     .width_dimension = 0, .has_fixed_grid = true, .merge = {scale, 4}, .reorders_feed_forward = true,
     .texts = "gemma3"},
    {.name = "gemma3nv", .encoder = vision, .layers = own,
     .tensors = "mm.input_projection.weight mm.soft_emb_norm.weight", .width = "mm.input_projection.weight",
     .width_dimension = 0, .has_plain_patches = false, .texts = "gemma3n"},
    {.name = "gemma4v", .encoder = vision, .layers = transformer, .tensors = "mm.input_projection.weight",
     .width = "mm.input_projection.weight", .merge = {scale, 3}, .tokens = {.least = 70, .most = 1120, .warmup = 256},
     .looks_up_positions = true, .texts = "gemma4"},
    {.name = "phi4", .encoder = vision, .layers = transformer, .tensors = two_linear, .width = "mm.2.weight",
     .first = "mm.0.weight", .second = "mm.2.weight", .keys = pixel_limits,
     .tokens = {.by_pixels = true, .warmup = 256},
     .resizes_positions = true, .texts = "phi3"},
    {.name = "idefics3", .encoder = vision, .layers = transformer, .tensors = "mm.model.fc.weight",
     .width = "mm.model.fc.weight", .first = "mm.model.fc.weight", .has_fixed_grid = true, .merge = {scale, 1, true},
     .reorders_feed_forward = true, .texts = "llama"},
    {.name = "pixtral", .encoder = vision, .layers = transformer,
     .tensors = "mm.1.weight mm.2.weight v.token_embd.img_break", .width = "mm.2.weight", .first = "mm.1.weight",
     .second = "mm.2.weight", .merge = {side, 1}, .tokens = {.least = 8, .most = 1024, .warmup = 256},
     .texts = "llama mistral3 mistral4"},
    {.name = "lightonocr", .encoder = vision, .layers = transformer, .tensors = "mm.1.weight mm.2.weight",
     .width = "mm.2.weight", .first = "mm.1.weight", .second = "mm.2.weight", .merge = {side, 1},
     .tokens = {.warmup = 256}, .texts = "qwen3"},
    {.name = "internvl", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.mlp.0.* mm.model.mlp.1.* mm.model.mlp.3.*", .width = "mm.model.mlp.3.weight",
     .first = "mm.model.mlp.1.weight", .second = "mm.model.mlp.3.weight", .has_fixed_grid = true,
     .merge = {scale, 1, true}, .texts = "qwen2 qwen3 qwen3moe internlm2 llama gpt-oss phi3 ernie4_5-moe"},
    {.name = "nemotron_v2_vl", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.mlp.0.weight mm.model.mlp.1.weight mm.model.mlp.3.weight", .width = "mm.model.mlp.3.weight",
     .first = "mm.model.mlp.1.weight", .second = "mm.model.mlp.3.weight", .merge = {scale, 1, true},
     .texts = "nemotron_h nemotron_h_moe"},
    {.name = "llama4", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.fc.weight mm.model.mlp.1.weight mm.model.mlp.2.weight", .width = "mm.model.fc.weight",
     .first = "mm.model.mlp.1.weight", .second = "mm.model.mlp.2.weight", .has_fixed_grid = true,
     .merge = {scale, 1, true}, .texts = "llama4"},
    {.name = "lfm2", .encoder = vision, .layers = transformer, .tensors = "mm.1.* mm.2.*", .width = "mm.2.weight",
     .first = "mm.1.weight", .second = "mm.2.weight", .merge = {scale, 1, true},
     .tokens = {.least = 64, .most = 256, .warmup = 256},
     .resizes_positions = true, .texts = "lfm2 lfm2moe"},
    {.name = "kimivl", .encoder = vision, .layers = transformer, .tensors = norm_and_two, .width = "mm.2.weight",
     .first = "mm.1.weight", .second = "mm.2.weight", .merge = {scale, 1, true},
     .tokens = {.least = 8, .most = 1024, .warmup = 256},
     .resizes_positions = true, .texts = "deepseek2"},
    {.name = "kimik25", .encoder = vision, .layers = transformer, .tensors = norm_and_two, .width = "mm.2.weight",
     .first = "mm.1.weight", .second = "mm.2.weight", .merge = {scale, 1, true},
     .tokens = {.by_pixels = true, .least = 2, .most = 4096, .warmup = 4096}, .texts = "deepseek2"},
    {.name = "paddleocr", .encoder = vision, .layers = transformer, .tensors = norm_and_two, .width = "mm.2.weight",
     .first = "mm.1.weight", .second = "mm.2.weight", .keys = pixel_limits, .merge = {{}, 2, true},
     .tokens = {.by_pixels = true, .warmup = 784}, .resizes_positions = true, .texts = "paddleocr ernie4_5"},
    {.name = "cogvlm", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.fc.weight mm.post_fc_norm.* mm.up.weight mm.gate.weight mm.down.weight v.boi v.eoi",
     .width = "mm.down.weight", .first = "mm.model.fc.weight", .has_fixed_grid = true, .tokens = {.added = 2},
     .texts = "cogvlm"},
    {.name = "janus_pro", .encoder = vision, .layers = transformer, .tensors = "mm.0.* mm.1.*", .width = "mm.1.weight",
     .first = "mm.0.weight", .second = "mm.1.weight", .has_fixed_grid = true, .texts = "llama"},
    {.name = "dots_ocr", .encoder = vision, .layers = transformer,
     .tensors = "mm.0.* mm.2.* mm.input_norm.* mm.post_norm.weight", .width = "mm.2.weight", .first = "mm.0.weight",
     .second = "mm.2.weight", .keys = "projector.scale_factor image_min_pixels image_max_pixels",
     .merge = {scale, 1, true}, .tokens = {.by_pixels = true, .warmup = 2116}, .texts = "qwen2"},
    {.name = "deepseekocr", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.fc.* v.image_newline v.view_seperator v.sam.pos_embd.weight v.sam.patch_embd.* "
                "v.sam.neck.0.weight v.sam.neck.1.* v.sam.neck.2.weight v.sam.neck.3.* v.sam.net_2.weight "
                "v.sam.net_3.weight", .width = "mm.model.fc.weight",
     .keys = "sam.block_count sam.head_count sam.embedding_length window_size", .has_plain_patches = false,
     .tokens = {.least = 273, .most = 273}, .texts = "deepseek2-ocr deepseek2"},
    {.name = "glm4v", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.fc.weight mm.up.weight mm.gate.weight mm.down.weight mm.post_norm.weight mm.patch_merger.*",
     .width = "mm.down.weight", .merge = {side, 2}, .tokens = {.least = 8, .most = 4096, .warmup = 2116},
     .resizes_positions = true,
     .texts = "glm4 glm4moe"},
    {.name = "youtuvl", .encoder = vision, .layers = transformer, .tensors = "mm.input_norm.weight mm.0.* mm.2.*",
     .width = "mm.2.weight", .first = "mm.0.weight", .second = "mm.2.weight", .keys = "window_size",
     .merge = two_by_key, .tokens = {.least = 1, .most = 62500, .warmup = 256}, .resizes_positions = true,
     .texts = "deepseek2"},
    {.name = "yasa2", .encoder = vision, .layers = own, .tensors = "v.patch_embd.weight mm.0.weight mm.2.weight",
     .width = "mm.2.weight", .has_plain_patches = false, .tokens = {.least = 64, .most = 64}},
    {.name = "hunyuanocr", .encoder = vision, .layers = transformer, .tensors = hunyuan, .width = "mm.model.fc.weight",
     .keys = pixel_limits, .merge = {side, 2}, .tokens = {.by_pixels = true, .warmup = 784},
     .texts = "hunyuan_vl hunyuan-dense"},
    {.name = "hunyuanvl", .encoder = vision, .layers = transformer, .tensors = hunyuan, .width = "mm.model.fc.weight",
     .merge = {side, 2}, .tokens = {.by_pixels = true, .least = 256, .most = 16384, .warmup = 1024},
     .texts = "hunyuan_vl hunyuan-dense"},
    {.name = "ultravox", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.1.weight mm.a.mlp.2.weight mm.a.norm_pre.weight "
                "mm.a.norm_mid.weight", .width = "mm.a.mlp.2.weight", .first = "mm.a.mlp.1.weight",
     .keys = "projector.stack_factor"},
    {.name = "voxtral", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.1.weight mm.a.mlp.2.weight", .width = "mm.a.mlp.2.weight",
     .first = "mm.a.mlp.1.weight", .second = "mm.a.mlp.2.weight", .keys = "projector.stack_factor", .texts = "llama"},
    {.name = "meralion", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.0.* mm.a.mlp.1.* mm.a.mlp.2.* mm.a.mlp.3.* mm.a.norm_pre.*",
     .width = "mm.a.mlp.3.weight", .first = "mm.a.mlp.0.weight", .keys = "projector.stack_factor"},
    {.name = "glma", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.1.* mm.a.mlp.2.* mm.a.norm_pre.* v.boi v.eoi",
     .width = "mm.a.mlp.2.weight", .first = "mm.a.mlp.1.weight", .second = "mm.a.mlp.2.weight",
     .keys = "projector.stack_factor", .texts = "llama"},
    {.name = "musicflamingo", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.1.* mm.a.mlp.2.*", .width = "mm.a.mlp.2.weight",
     .first = "mm.a.mlp.1.weight", .second = "mm.a.mlp.2.weight", .texts = "qwen2"},
    {.name = "qwen2a", .encoder = audio, .layers = transformer, .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.fc.*",
     .width = "mm.a.fc.weight", .first = "mm.a.fc.weight", .texts = "qwen2 qwen2vl"},
    {.name = "qwen3a", .encoder = audio, .layers = transformer,
     .tensors = "a.conv2d.1.* a.conv2d.2.* a.conv2d.3.* a.conv_out.weight mm.a.mlp.1.* mm.a.mlp.2.*",
     .width = "mm.a.mlp.2.weight", .first = "mm.a.mlp.1.weight", .second = "mm.a.mlp.2.weight",
     .texts = "qwen3vlmoe qwen3 qwen3moe"},
    {.name = "lfm2a", .encoder = audio, .layers = conformer,
     .tensors = "a.conv1d.0.* a.conv1d.2.* a.conv1d.3.* a.conv1d.5.* a.conv1d.6.* a.pre_encode.out.* mm.a.mlp.0.* "
                "mm.a.mlp.1.* mm.a.mlp.3.*", .width = "a.position_embd.weight", .width_dimension = 0,
     .layer_tensors = "ffn_norm.* ffn_norm_1.* ffn_up_1.* ffn_down_1.* pos_bias_u pos_bias_v norm_conv.* "
                      "linear_pos.weight conv_norm.* conv_dw.* conv_pw1.* conv_pw2.*", .texts = "lfm2 lfm2moe"},
    {.name = "gemma4a", .encoder = audio, .layers = conformer,
     .tensors = "a.conv1d.0.weight a.conv1d.1.weight a.input_projection.weight",
     .width = "mm.a.input_projection.weight",
     .layer_tensors = "ffn_norm.weight conv_pw1.weight conv_dw.weight conv_pw2.weight ffn_norm_1.weight "
                      "ffn_up_1.weight ffn_down_1.weight", .texts = "gemma4"},
    {.name = "parakeet", .encoder = audio, .layers = conformer,
     .tensors = "a.mel_filters a.window a.conv1d.0.* a.conv1d.2.* a.conv1d.3.* a.conv1d.5.* a.conv1d.6.* "
                "a.pre_encode.out.*", .width = {},
     .layer_tensors = "linear_pos.weight pos_bias_u pos_bias_v conv_pw1.weight conv_dw.weight conv_norm.weight "
                      "conv_pw2.weight ffn_norm.weight ffn_norm_1.weight ffn_up_1.weight ffn_down_1.weight "
                      "norm_conv.weight"},
    // For these types only two facts are known: the tensors that the loader requires besides the layers, and the tensor
    // that produces the embeddings.
    {.name = "exaone4_5", .encoder = vision, .layers = own, .tensors = two_linear, .width = "mm.2.weight",
     .first = "mm.0.weight", .second = "mm.2.weight",
     .keys = "image_min_pixels image_max_pixels attention.head_count_kv", .merge = two_by_key,
     .tokens = {.by_pixels = true, .warmup = 2116}, .reorders_feed_forward = true, .texts = "exaone4"},
    {.name = "mimovl", .encoder = vision, .layers = own, .tensors = "mm.0.weight mm.2.weight", .width = "mm.2.weight",
     .has_plain_patches = false, .merge = {side, 2}, .tokens = {.by_pixels = true, .warmup = 2116},
     .texts = "mimo2 qwen2"},
    {.name = "minimax_m3", .encoder = vision, .layers = own, .tensors = "mm.1.* mm.2.* mm.merger.fc1.* mm.merger.fc2.*",
     .width = "mm.merger.fc2.bias", .width_dimension = 0, .has_plain_patches = false, .merge = {side, 2},
     .tokens = {.least = 8, .most = 576, .warmup = 256}, .texts = "minimax-m3"},
    {.name = "muse-glimmer", .encoder = vision, .layers = own, .tensors = "mm.0.weight mm.1.weight mm.2.weight",
     .width = "mm.2.weight", .has_plain_patches = false, .merge = {side, 2},
     .tokens = {.least = 1, .most = 4096, .warmup = 1024},
     .resizes_positions = true, .texts = "muse-glimmer"},
    {.name = "minicpmv4_6", .encoder = vision, .layers = transformer,
     .tensors = "mm.input_norm.weight mm.up.weight mm.down.weight", .width = "mm.down.weight", .first = "mm.up.weight",
     .second = "mm.down.weight", .merge = {scale, 4}, .reorders_feed_forward = true, .looks_up_positions = true,
     .texts = "qwen35 qwen35moe"},
    {.name = "gemma4uv", .encoder = vision, .layers = own, .tensors = "mm.input_projection.weight",
     .width = "mm.input_projection.weight", .has_plain_patches = false, .merge = {scale, 3},
     .tokens = {.least = 70, .most = 1120, .warmup = 256}, .looks_up_positions = true, .texts = "gemma4"},
    {.name = "deepseek4v", .encoder = vision, .layers = own, .tensors = "mm.1.* mm.2.* v.image_newline",
     .width = "mm.2.weight", .has_plain_patches = false, .texts = "deepseek4"},
    {.name = "deepseekocr2", .encoder = vision, .layers = own,
     .tensors = "mm.model.fc.weight v.sam.pos_embd.weight v.sam.patch_embd.*", .width = "mm.model.fc.weight",
     .has_plain_patches = false, .tokens = {.least = 257, .most = 257}, .texts = "deepseek2-ocr deepseek2"},
    {.name = "dots3note_v", .encoder = vision, .layers = own,
     .tensors = "mm.0.* mm.2.* mm.input_norm.* mm.post_norm.weight",
     .width = "mm.2.weight", .has_plain_patches = false, .texts = "dots3note"},
    {.name = "granite4_vision", .encoder = vision, .layers = transformer, .tensors = "v.image_newline", .width = {},
     .keys = "projector.query_side projector.window_side", .has_fixed_grid = true,
     .texts = "granite granitemoe granitehybrid"},
    {.name = "dots3note_a", .encoder = audio, .layers = own,
     .tensors = "a.conv2d.1.* a.conv2d.2.* a.conv2d.3.* a.conv_out.weight mm.a.norm_pre.* mm.a.mlp.1.weight",
     .width = "mm.a.mlp.2.weight", .texts = "dots3note"},
    {.name = "gemma3na", .encoder = audio, .layers = own, .tensors = {}, .width = {}, .texts = "gemma3n"},
    {.name = "gemma4ua", .encoder = audio, .layers = own, .tensors = "mm.a.input_projection.weight",
     .width = "mm.a.input_projection.weight", .texts = "gemma4"},
    {.name = "granite_speech", .encoder = audio, .layers = own, .tensors = {}, .width = {},
     .texts = "granite granitemoe granitehybrid"},
    {.name = "mimo_audio", .encoder = audio, .layers = own, .tensors = "a.conv1d.1.* a.conv1d.2.*", .width = {},
     .texts = "mimo2 qwen2"},
    {.name = "qwen3tts_spkenc", .encoder = audio, .layers = own, .tensors = "a.conv1d.0.*", .width = {}},
    {.name = "qwen3tts_gen", .encoder = audio, .layers = own, .tensors = {}, .width = {}},
    {.name = "pockettts_spkenc", .encoder = audio, .layers = own, .tensors = {}, .width = {}},
    {.name = "pockettts_gen", .encoder = audio, .layers = own, .tensors = {}, .width = {}},
};
// clang-format on

}  // namespace

std::optional<std::string_view> projector_type(const gguf::Index& index, const Encoder& encoder) {
  auto type = index.string_value("clip.projector_type");
  if (!type || type->empty()) type = index.string_value(fmt::format("clip.{}.projector_type", encoder.name));
  if (type == qwen_omni_projector) return encoder.name == vision ? "qwen2.5vl_merger" : "qwen2a";
  return type;
}

std::span<const Projector> all_projectors() {
  return projectors;
}

const Projector* find_projector(std::string_view type, const Encoder& encoder, const gguf::Index& index) {
  for (const Projector& row : projectors) {
    if (row.name != type || row.encoder != encoder.name) continue;
    if (row.when.empty() || index.tensor(row.when) != nullptr) return &row;
  }
  return nullptr;
}

// Deepstack layers have separate projectors (Qwen3-VL); Granite Vision has no others.
static u64 parts_of(const gguf::Index& index, const Encoder& encoder) {
  if (encoder.name != vision) return 1;
  const u64 layers = index.unsigned_value("clip.vision.block_count").value_or(0);
  u64 deep = 0, projectors = 0;
  for (u64 i = 0; i < layers && i < most_layers; ++i) {
    if (index.tensor(fmt::format("v.deepstack.{}.fc1.weight", i)) != nullptr) ++deep;
    if (index.tensor(fmt::format("v.proj_blk.{}.linear.weight", i)) != nullptr) ++projectors;
  }
  return std::max(projectors, 1 + deep);
}

std::optional<ProjectorWidth> projector_width(const gguf::Index& index, const Encoder& encoder) {
  const auto type = projector_type(index, encoder);
  const Projector* row = type ? find_projector(*type, encoder, index) : nullptr;
  const gguf::TensorInfo* tensor = row != nullptr ? index.tensor(row->width) : nullptr;
  const u64 parts = parts_of(index, encoder);
  if (tensor != nullptr && row->width_dimension < tensor->ne.size()) {
    return ProjectorWidth{tensor->ne[row->width_dimension], parts, at_tensor(tensor->name), tensor->info_offset};
  }
  const std::string name = fmt::format("clip.{}.projection_dim", encoder.name);
  const auto size = index.unsigned_value(name);
  if (!size) return std::nullopt;
  const gguf::KeyValue* entry = index.key(name);
  return ProjectorWidth{*size, parts, at_key(entry->key), entry->offset};
}

u64 merged_patches(const gguf::Index& index, const Projector& row) {
  const auto stated =
      row.merge.key.empty() ? std::nullopt : index.unsigned_value(fmt::format("clip.vision.{}", row.merge.key));
  return stated.value_or(row.merge.fallback);
}

std::optional<PictureTokens> picture_tokens(const gguf::Index& index, const Projector& row) {
  const auto number = [&](std::string_view name) { return index.unsigned_value(fmt::format("clip.vision.{}", name)); };
  if (row.encoder != vision) return std::nullopt;
  const auto patch = number("patch_size");
  const auto area =
      patch
          ? checked_product(std::array<u64, 4>{*patch, *patch, merged_patches(index, row), merged_patches(index, row)})
          : std::nullopt;
  if (area.value_or(0) == 0) return std::nullopt;
  const auto least = number("image_min_pixels"), most = number("image_max_pixels");
  if (row.tokens.by_pixels && least && most) return PictureTokens{*least / *area, *most / *area};
  if (row.tokens.most > 0) return PictureTokens{row.tokens.least, row.tokens.most};
  // A picture of the model's size.
  const u64 across = number("image_size").value_or(0) / *patch / merged_patches(index, row);
  const auto square = checked_mul(across, across);
  const auto all = square ? checked_add(*square, row.tokens.added) : std::nullopt;
  if (row.tokens.by_pixels || across == 0 || !all) return std::nullopt;
  return PictureTokens{*all, *all};
}

TowerTypes tower_types(const Projector* row, std::string_view name, std::span<const u64> ne) {
  if (name == "v.patch_embd.weight.1") return TowerTypes::f32_or_f16;
  std::size_t dimensions = ne.size();
  while (dimensions > 0 && ne[dimensions - 1] == 1) --dimensions;
  if (!name.ends_with(".weight") || name.ends_with("norm.weight") || dimensions < 2) return TowerTypes::f32;
  if (name.ends_with(".position_embd.weight")) {
    return row != nullptr && row->looks_up_positions ? TowerTypes::any : TowerTypes::f32;
  }
  const bool is_sam = name.starts_with("v.sam.pos_embd") || name.starts_with("v.sam.ne");
  if (is_sam || name.ends_with(".conv_dw.weight")) return TowerTypes::f32;
  if (dimensions > 2 && name.find("_exps.") == std::string_view::npos) return TowerTypes::f32_or_f16;
  const bool is_transposed = name == "mm.input_projection.weight" && row != nullptr && row->width_dimension == 0;
  return is_transposed ? TowerTypes::no_blocks : TowerTypes::any;
}

bool may_belong_to(const gguf::Index& index, std::string_view text_architecture) {
  for (const Encoder& encoder : encoders) {
    const auto type = projector_type(index, encoder);
    const Projector* row = type ? find_projector(*type, encoder, index) : nullptr;
    if (row == nullptr || row->texts.empty()) continue;
    if (std::ranges::count(projector_words(row->texts), text_architecture) == 0) return false;
  }
  return true;
}

std::vector<std::string_view> projector_words(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

std::vector<std::string> projector_tensors(std::string_view list) {
  std::vector<std::string> names;
  for (std::string_view word : projector_words(list)) {
    if (!word.ends_with(".*")) {
      names.emplace_back(word);
      continue;
    }
    word.remove_suffix(1);
    for (const std::string_view part : {"weight", "bias"}) names.push_back(std::string(word) + std::string(part));
  }
  return names;
}

}  // namespace modelutils::arch
