#include "arch/image_models.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/place.h"
#include "gguf/keys.h"

namespace modelutils::arch {

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
