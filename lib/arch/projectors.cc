#include "arch/projectors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "formats/gguf/document.h"

namespace modelutils::arch {

namespace {

using enum EncoderLayers;

constexpr std::string_view vision = "vision", audio = "audio";
constexpr std::string_view pixel_limits = "image_min_pixels image_max_pixels";
constexpr std::string_view two_linear = "mm.0.* mm.2.*";
constexpr std::string_view norm_and_two = "mm.input_norm.* mm.1.* mm.2.*";
constexpr std::string_view hunyuan =
    "mm.0.* mm.2.* mm.model.fc.* mm.pre_norm.weight mm.post_norm.weight mm.image_begin mm.image_end v.image_newline";
// clang-format off
constexpr Projector projectors[] = {
    {.name = "mlp", .encoder = vision, .layers = transformer, .tensors = "mm.0.* mm.1.* mm.3.* mm.4.*",
     .width = "mm.3.weight", .first = "mm.0.weight", .second = "mm.3.weight", .when = "mm.3.weight",
     .has_fixed_grid = true},
    {.name = "mlp", .encoder = vision, .layers = transformer, .tensors = "mm.0.weight mm.2.weight",
     .width = "mm.2.weight", .first = "mm.0.weight", .second = "mm.2.weight", .has_fixed_grid = true},
    {.name = "ldp", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.mlp.1.* mm.model.mlp.3.* mm.model.mb_block.1.block.0.0.weight "
                "mm.model.mb_block.1.block.0.1.* mm.model.mb_block.1.block.1.fc1.* mm.model.mb_block.1.block.1.fc2.* "
                "mm.model.mb_block.1.block.2.0.weight mm.model.mb_block.1.block.2.1.* "
                "mm.model.mb_block.2.block.0.0.weight mm.model.mb_block.2.block.0.1.* "
                "mm.model.mb_block.2.block.1.fc1.* mm.model.mb_block.2.block.1.fc2.* "
                "mm.model.mb_block.2.block.2.0.weight mm.model.mb_block.2.block.2.1.*",
     .width = "mm.model.mb_block.1.block.2.1.bias", .width_dimension = 0, .first = "mm.model.mlp.1.weight",
     .second = "mm.model.mlp.3.weight", .has_fixed_grid = true},
    {.name = "ldpv2", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.mlp.0.* mm.model.mlp.2.* mm.model.peg.0.*", .width = "mm.model.peg.0.bias",
     .width_dimension = 0, .first = "mm.model.mlp.0.weight", .second = "mm.model.mlp.2.weight", .has_fixed_grid = true},
    {.name = "resampler", .encoder = vision, .layers = transformer,
     .tensors = "resampler.pos_embed_k resampler.query resampler.proj.weight resampler.kv.weight resampler.attn.q.* "
                "resampler.attn.k.* resampler.attn.v.* resampler.attn.out.* resampler.ln_q.* resampler.ln_kv.* "
                "resampler.ln_post.*", .width = "resampler.proj.weight", .width_dimension = 0},
    {.name = "adapter", .encoder = vision, .layers = transformer,
     .tensors = "adapter.conv.* adapter.linear.linear.weight adapter.linear.norm1.* adapter.linear.gate.weight "
                "adapter.linear.dense_h_to_4h.weight adapter.linear.dense_4h_to_h.weight adapter.boi adapter.eoi",
     .width = "adapter.linear.dense_4h_to_h.weight"},
    {.name = "qwen2vl_merger", .encoder = vision, .layers = transformer, .tensors = two_linear, .width = "mm.2.weight",
     .first = "mm.0.weight", .second = "mm.2.weight"},
    {.name = "qwen2.5vl_merger", .encoder = vision, .layers = transformer, .tensors = two_linear,
     .width = "mm.2.weight", .first = "mm.0.weight", .second = "mm.2.weight", .keys = "n_wa_pattern"},
    {.name = "qwen3vl_merger", .encoder = vision, .layers = transformer, .tensors = two_linear, .width = "mm.2.weight",
     .first = "mm.0.weight", .second = "mm.2.weight"},
    {.name = "step3vl", .encoder = vision, .layers = transformer,
     .tensors = "mm.0.weight mm.1.weight mm.model.fc.weight", .width = "mm.model.fc.weight"},
    {.name = "gemma3", .encoder = vision, .layers = transformer,
     .tensors = "mm.input_projection.weight mm.soft_emb_norm.weight", .width = "mm.input_projection.weight",
     .width_dimension = 0, .has_fixed_grid = true},
    {.name = "gemma3nv", .encoder = vision, .layers = own,
     .tensors = "mm.input_projection.weight mm.soft_emb_norm.weight", .width = "mm.input_projection.weight",
     .width_dimension = 0, .has_plain_patches = false},
    {.name = "gemma4v", .encoder = vision, .layers = transformer, .tensors = "mm.input_projection.weight",
     .width = "mm.input_projection.weight"},
    {.name = "phi4", .encoder = vision, .layers = transformer, .tensors = two_linear, .width = "mm.2.weight",
     .first = "mm.0.weight", .second = "mm.2.weight", .keys = pixel_limits},
    {.name = "idefics3", .encoder = vision, .layers = transformer, .tensors = "mm.model.fc.weight",
     .width = "mm.model.fc.weight", .first = "mm.model.fc.weight", .has_fixed_grid = true},
    {.name = "pixtral", .encoder = vision, .layers = transformer,
     .tensors = "mm.1.weight mm.2.weight v.token_embd.img_break", .width = "mm.2.weight", .first = "mm.1.weight",
     .second = "mm.2.weight"},
    {.name = "lightonocr", .encoder = vision, .layers = transformer, .tensors = "mm.1.weight mm.2.weight",
     .width = "mm.2.weight", .first = "mm.1.weight", .second = "mm.2.weight"},
    {.name = "internvl", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.mlp.0.* mm.model.mlp.1.* mm.model.mlp.3.*", .width = "mm.model.mlp.3.weight",
     .first = "mm.model.mlp.1.weight", .second = "mm.model.mlp.3.weight", .has_fixed_grid = true},
    {.name = "nemotron_v2_vl", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.mlp.0.weight mm.model.mlp.1.weight mm.model.mlp.3.weight", .width = "mm.model.mlp.3.weight",
     .first = "mm.model.mlp.1.weight", .second = "mm.model.mlp.3.weight"},
    {.name = "llama4", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.fc.weight mm.model.mlp.1.weight mm.model.mlp.2.weight", .width = "mm.model.fc.weight",
     .first = "mm.model.mlp.1.weight", .second = "mm.model.mlp.2.weight", .has_fixed_grid = true},
    {.name = "lfm2", .encoder = vision, .layers = transformer, .tensors = "mm.1.* mm.2.*", .width = "mm.2.weight",
     .first = "mm.1.weight", .second = "mm.2.weight"},
    {.name = "kimivl", .encoder = vision, .layers = transformer, .tensors = norm_and_two, .width = "mm.2.weight",
     .first = "mm.1.weight", .second = "mm.2.weight"},
    {.name = "kimik25", .encoder = vision, .layers = transformer, .tensors = norm_and_two, .width = "mm.2.weight",
     .first = "mm.1.weight", .second = "mm.2.weight"},
    {.name = "paddleocr", .encoder = vision, .layers = transformer, .tensors = norm_and_two, .width = "mm.2.weight",
     .first = "mm.1.weight", .second = "mm.2.weight", .keys = pixel_limits},
    {.name = "cogvlm", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.fc.weight mm.post_fc_norm.* mm.up.weight mm.gate.weight mm.down.weight v.boi v.eoi",
     .width = "mm.down.weight", .first = "mm.model.fc.weight", .has_fixed_grid = true},
    {.name = "janus_pro", .encoder = vision, .layers = transformer, .tensors = "mm.0.* mm.1.*", .width = "mm.1.weight",
     .first = "mm.0.weight", .second = "mm.1.weight", .has_fixed_grid = true},
    {.name = "dots_ocr", .encoder = vision, .layers = transformer,
     .tensors = "mm.0.* mm.2.* mm.input_norm.* mm.post_norm.weight", .width = "mm.2.weight", .first = "mm.0.weight",
     .second = "mm.2.weight", .keys = "projector.scale_factor image_min_pixels image_max_pixels"},
    {.name = "deepseekocr", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.fc.* v.image_newline v.view_seperator v.sam.pos_embd.weight v.sam.patch_embd.* "
                "v.sam.neck.0.weight v.sam.neck.1.* v.sam.neck.2.weight v.sam.neck.3.* v.sam.net_2.weight "
                "v.sam.net_3.weight", .width = "mm.model.fc.weight",
     .keys = "sam.block_count sam.head_count sam.embedding_length window_size", .has_plain_patches = false},
    {.name = "glm4v", .encoder = vision, .layers = transformer,
     .tensors = "mm.model.fc.weight mm.up.weight mm.gate.weight mm.down.weight mm.post_norm.weight mm.patch_merger.*",
     .width = "mm.down.weight"},
    {.name = "youtuvl", .encoder = vision, .layers = transformer, .tensors = "mm.input_norm.weight mm.0.* mm.2.*",
     .width = "mm.2.weight", .first = "mm.0.weight", .second = "mm.2.weight", .keys = "window_size"},
    {.name = "yasa2", .encoder = vision, .layers = own, .tensors = "v.patch_embd.weight mm.0.weight mm.2.weight",
     .width = "mm.2.weight", .has_plain_patches = false},
    {.name = "hunyuanocr", .encoder = vision, .layers = transformer, .tensors = hunyuan, .width = "mm.model.fc.weight",
     .keys = pixel_limits},
    {.name = "hunyuanvl", .encoder = vision, .layers = transformer, .tensors = hunyuan, .width = "mm.model.fc.weight"},
    {.name = "ultravox", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.1.weight mm.a.mlp.2.weight mm.a.norm_pre.weight "
                "mm.a.norm_mid.weight", .width = "mm.a.mlp.2.weight", .first = "mm.a.mlp.1.weight",
     .keys = "projector.stack_factor"},
    {.name = "voxtral", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.1.weight mm.a.mlp.2.weight", .width = "mm.a.mlp.2.weight",
     .first = "mm.a.mlp.1.weight", .second = "mm.a.mlp.2.weight", .keys = "projector.stack_factor"},
    {.name = "meralion", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.0.* mm.a.mlp.1.* mm.a.mlp.2.* mm.a.mlp.3.* mm.a.norm_pre.*",
     .width = "mm.a.mlp.3.weight", .first = "mm.a.mlp.0.weight", .keys = "projector.stack_factor"},
    {.name = "glma", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.1.* mm.a.mlp.2.* mm.a.norm_pre.* v.boi v.eoi",
     .width = "mm.a.mlp.2.weight", .first = "mm.a.mlp.1.weight", .second = "mm.a.mlp.2.weight",
     .keys = "projector.stack_factor"},
    {.name = "musicflamingo", .encoder = audio, .layers = transformer,
     .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.mlp.1.* mm.a.mlp.2.*", .width = "mm.a.mlp.2.weight",
     .first = "mm.a.mlp.1.weight", .second = "mm.a.mlp.2.weight"},
    {.name = "qwen2a", .encoder = audio, .layers = transformer, .tensors = "a.conv1d.1.* a.conv1d.2.* mm.a.fc.*",
     .width = "mm.a.fc.weight", .first = "mm.a.fc.weight"},
    {.name = "qwen3a", .encoder = audio, .layers = transformer,
     .tensors = "a.conv2d.1.* a.conv2d.2.* a.conv2d.3.* a.conv_out.weight mm.a.mlp.1.* mm.a.mlp.2.*",
     .width = "mm.a.mlp.2.weight", .first = "mm.a.mlp.1.weight", .second = "mm.a.mlp.2.weight"},
    {.name = "lfm2a", .encoder = audio, .layers = conformer,
     .tensors = "a.conv1d.0.* a.conv1d.2.* a.conv1d.3.* a.conv1d.5.* a.conv1d.6.* a.pre_encode.out.* mm.a.mlp.0.* "
                "mm.a.mlp.1.* mm.a.mlp.3.*", .width = "a.position_embd.weight", .width_dimension = 0,
     .layer_tensors = "ffn_norm.* ffn_norm_1.* ffn_up_1.* ffn_down_1.* pos_bias_u pos_bias_v norm_conv.* "
                      "linear_pos.weight conv_norm.* conv_dw.* conv_pw1.* conv_pw2.*"},
    {.name = "gemma4a", .encoder = audio, .layers = conformer,
     .tensors = "a.conv1d.0.weight a.conv1d.1.weight a.input_projection.weight", .width = {},
     .layer_tensors = "ffn_norm.weight conv_pw1.weight conv_dw.weight conv_pw2.weight ffn_norm_1.weight "
                      "ffn_up_1.weight ffn_down_1.weight"},
    {.name = "parakeet", .encoder = audio, .layers = conformer,
     .tensors = "a.mel_filters a.window a.conv1d.0.* a.conv1d.2.* a.conv1d.3.* a.conv1d.5.* a.conv1d.6.* "
                "a.pre_encode.out.*", .width = {},
     .layer_tensors = "linear_pos.weight pos_bias_u pos_bias_v conv_pw1.weight conv_dw.weight conv_norm.weight "
                      "conv_pw2.weight ffn_norm.weight ffn_norm_1.weight ffn_up_1.weight ffn_down_1.weight "
                      "norm_conv.weight"},
    // For these types only two facts are known: the tensors that the loader requires besides the layers, and the tensor
    // that produces the embeddings.
    {.name = "exaone4_5", .encoder = vision, .layers = own, .tensors = two_linear, .width = "mm.2.weight",
     .has_plain_patches = false},
    {.name = "mimovl", .encoder = vision, .layers = own, .tensors = "mm.0.weight mm.2.weight", .width = "mm.2.weight",
     .has_plain_patches = false},
    {.name = "minimax_m3", .encoder = vision, .layers = own, .tensors = "mm.1.* mm.2.* mm.merger.fc1.* mm.merger.fc2.*",
     .width = "mm.merger.fc2.bias", .width_dimension = 0, .has_plain_patches = false},
    {.name = "muse-glimmer", .encoder = vision, .layers = own, .tensors = "mm.0.weight mm.1.weight mm.2.weight",
     .width = "mm.2.weight", .has_plain_patches = false},
    {.name = "minicpmv4_6", .encoder = vision, .layers = own, .tensors = "mm.down.weight", .width = "mm.down.weight",
     .has_plain_patches = false},
    {.name = "gemma4uv", .encoder = vision, .layers = own, .tensors = "mm.input_projection.weight",
     .width = "mm.input_projection.weight", .has_plain_patches = false},
    {.name = "deepseek4v", .encoder = vision, .layers = own, .tensors = "mm.1.* mm.2.* v.image_newline",
     .width = "mm.2.weight", .has_plain_patches = false},
    {.name = "deepseekocr2", .encoder = vision, .layers = own,
     .tensors = "mm.model.fc.weight v.sam.pos_embd.weight v.sam.patch_embd.*", .width = "mm.model.fc.weight",
     .has_plain_patches = false},
    {.name = "dots3note_v", .encoder = vision, .layers = own, .tensors = "mm.0.* mm.2.* mm.input_norm.* mm.post_norm.weight",
     .width = "mm.2.weight", .has_plain_patches = false},
    {.name = "granite4_vision", .encoder = vision, .layers = own, .tensors = "v.image_newline", .width = {},
     .has_plain_patches = false},
    {.name = "dots3note_a", .encoder = audio, .layers = own,
     .tensors = "a.conv2d.1.* a.conv2d.2.* a.conv2d.3.* a.conv_out.weight mm.a.norm_pre.* mm.a.mlp.1.weight",
     .width = "mm.a.mlp.2.weight"},
    {.name = "gemma3na", .encoder = audio, .layers = own, .tensors = {}, .width = {}},
    {.name = "gemma4ua", .encoder = audio, .layers = own, .tensors = "mm.a.input_projection.weight",
     .width = "mm.a.input_projection.weight"},
    {.name = "granite_speech", .encoder = audio, .layers = own, .tensors = {}, .width = {}},
    {.name = "mimo_audio", .encoder = audio, .layers = own, .tensors = "a.conv1d.1.* a.conv1d.2.*", .width = {}},
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

std::optional<ProjectorWidth> projector_width(const gguf::Index& index, const Encoder& encoder) {
  const auto type = projector_type(index, encoder);
  const Projector* row = type ? find_projector(*type, encoder, index) : nullptr;
  const gguf::TensorInfo* tensor = row != nullptr ? index.tensor(row->width) : nullptr;
  if (tensor != nullptr && row->width_dimension < tensor->ne.size()) {
    return ProjectorWidth{tensor->ne[row->width_dimension], at_tensor(tensor->name), tensor->info_offset};
  }
  const std::string name = fmt::format("clip.{}.projection_dim", encoder.name);
  const auto size = index.unsigned_value(name);
  if (!size) return std::nullopt;
  const gguf::KeyValue* entry = index.key(name);
  return ProjectorWidth{*size, at_key(entry->key), entry->offset};
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

namespace {

struct ImageModel {
  std::string_view name;
  std::string_view tensor;  // unique to the model; named without a whole pipeline's prefix
};
constexpr std::array image_models = {
    ImageModel{"flux", "double_blocks.0.img_attn.proj.weight"},
    ImageModel{"qwen_image", "transformer_blocks.0.attn.norm_added_q.weight"},
    ImageModel{"sd3", "joint_blocks.0.x_block.attn.qkv.weight"},
    ImageModel{"aura", "double_layers.3.modX.1.weight"},
    ImageModel{"hidream", "double_stream_blocks.0.block.ff_i.shared_experts.w3.weight"},
    ImageModel{"cosmos", "blocks.0.adaln_modulation_cross_attn.1.weight"},
    ImageModel{"ltxv", "transformer_blocks.27.scale_shift_table"},
    ImageModel{"hyvid", "txt_in.individual_token_refiner.blocks.1.self_attn_qkv.weight"},
    ImageModel{"wan", "head.modulation"},
    ImageModel{"sdxl", "label_emb.0.0.weight"},
    ImageModel{"sdxl", "add_embedding.linear_1.weight"},
    ImageModel{"sd1", "input_blocks.3.0.op.weight"},
    ImageModel{"sd1", "down_blocks.0.downsamplers.0.conv.weight"},
    ImageModel{"lumina2", "context_refiner.0.attention.qkv.weight"},
};
// Architecture names that ComfyUI's readers accept for any image model.
constexpr std::array<std::string_view, 2> any_model = {"pig", "cow"};

std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : {"model.diffusion_model.", "diffusion_model.", "model."}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

}  // namespace

std::string_view image_model_of(const gguf::SplitSet& set) {
  if (set.files.empty()) return {};
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const auto found = std::ranges::find(image_models, without_prefix(tensor.name), &ImageModel::tensor);
      if (found != image_models.end()) return found->name;
    }
  }
  const gguf::Index keys(set.files.front().document);
  const std::string_view stated = keys.architecture();
  const auto found = std::ranges::find(image_models, stated, &ImageModel::name);
  if (found != image_models.end()) return found->name;
  const auto any = std::ranges::find(any_model, stated);
  return any == any_model.end() ? std::string_view{} : *any;
}

Status refuse_image_model(const gguf::SplitSet& set) {
  const std::string_view name = image_model_of(set);
  if (name.empty()) return {};
  return input_error(
      "convert-image-model",
      fmt::format("'{}' is an image or video model (ComfyUI's), not a language model, and is not supported", name),
      at_key("general.architecture"), {}, set.files.front().path);
}

}  // namespace modelutils::arch
