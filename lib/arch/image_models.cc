#include "arch/image_models.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <iterator>
#include <string>
#include <variant>

#include "arch/images/list.h"
#include "base/name_index.h"
#include "base/text.h"
#include "base/types.h"

namespace modelutils::arch {

namespace {

#define MU_IMAGE_ADDRESS(name) &images::name,
constexpr std::array all_images = {MU_ARCH_IMAGES(MU_IMAGE_ADDRESS)};
#undef MU_IMAGE_ADDRESS

// Prefixes of a model's names in a file with several parts, and in exports of trainers.
constexpr std::string_view prefixes[] = {"model.diffusion_model.", "diffusion_model.", "model."};
// A prefix that is removed only if every name has it.
constexpr std::string_view common_prefix = "net.";

// Parts of all-in-one files.
struct OtherPart {
  std::string_view prefix;
  std::string_view noun;
};
constexpr OtherPart other_parts[] = {
    {"first_stage_model.", "a VAE"},        {"vae.", "a VAE"},
    {"audio_vae.", "an audio VAE"},         {"vocoder.", "a vocoder"},
    {"cond_stage_model.", "text encoders"}, {"conditioner.", "text encoders"},
    {"text_encoders.", "text encoders"},    {"model_ema.", "averaged weights"},
};

// Files that are not models, recognised by a part of a tensor's name; after '^', the name must begin with it.
struct OtherFile {
  std::string_view part;
  std::string_view text;
};
constexpr std::string_view lora = "is a LoRA adapter, not a model: load it beside the model, or merge it first";
constexpr std::string_view control_net = "is a ControlNet, which belongs beside a model and is not converted";
constexpr OtherFile other_files[] = {
    {".lora_A", lora},
    {".lora_B", lora},
    {".lora_up", lora},
    {".lora_down", lora},
    {"^lora_unet_", lora},
    {".hada_", lora},
    {".lokr_", lora},
    {"^controlnet_", control_net},
    {"^control_model.", control_net},
};
// Models of other programs, without rules for their types here.
struct OtherModel {
  std::string_view tensor;  // the end of a tensor's name, or its beginning if it ends in '.'
  std::string_view text;
};
constexpr OtherModel other_models[] = {
    {"txt_in.text_norm.weight", "is Qwen-Image 2.1, which stable-diffusion.cpp converts"},
    {"txtfusion.projector.weight", "is Krea 2, which stable-diffusion.cpp converts"},
    {"embed_image_indicator.weight", "is Ideogram 4, which stable-diffusion.cpp converts"},
    {"video_patch_proj.weight", "is MiniMax-H3, which stable-diffusion.cpp converts"},
    {"layers.0.adaLN_sa_ln.weight", "is ERNIE-Image, which stable-diffusion.cpp converts"},
    {".time_mixer.mix_factor", "is Stable Video Diffusion, which stable-diffusion.cpp converts"},
    {"t5_yproj.weight", "is Mochi, which ComfyUI reads as safetensors only"},
    {"blocks.block0.", "is Cosmos 1, which ComfyUI reads as safetensors only"},
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Calls visit(word) -> bool for the words of a text until it returns true; returns whether it did.
template <typename Visit>
bool any_word(std::string_view words, char separator, Visit visit) {
  while (!words.empty()) {
    const std::size_t end = words.find(separator);
    if (end != 0 && visit(words.substr(0, end))) return true;
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  return false;
}

bool fits(std::string_view detect, const std::function<bool(std::string_view)>& has) {
  return any_word(detect, '|', [&](std::string_view list) {
    return !any_word(list, ' ', [&](std::string_view name) { return !has(name); });
  });
}

// A row of ImageNames, taken apart.
struct Row {
  std::string_view from;  // parts separated by '+'
  std::string_view to;
  bool swaps = false, only_last = false;
};
Row row_of(std::string_view word) {
  const std::size_t equals = word.find('=');
  Row row{word.substr(0, equals), equals == std::string_view::npos ? word : word.substr(equals + 1)};
  row.only_last = row.to.starts_with('^');
  row.swaps = row.only_last || row.to.starts_with('~');
  if (row.swaps) row.to.remove_prefix(1);
  return row;
}

// The number of a block, as written in a name, and the rest of the name.
struct InBlock {
  std::string_view number;
  std::string_view rest;
};
// Splits a name by its group, such as "blocks.#", into the number and the rest. Returns nullopt if the name does not
// begin like the group. A group without '#' has no number and no prefix.
std::optional<InBlock> in_block(std::string_view group, std::string_view name) {
  const std::size_t hash = group.find('#');
  if (hash == std::string_view::npos) return InBlock{{}, name};
  if (!name.starts_with(group.substr(0, hash))) return std::nullopt;
  name.remove_prefix(hash);
  const std::size_t digits = name.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || name[digits] != '.') return std::nullopt;
  return InBlock{name.substr(0, digits), name.substr(digits + 1)};
}

// Returns the rest of a name after its module: empty, ".weight" or ".bias"; nullopt for other modules.
std::optional<std::string_view> end_behind(std::string_view module, std::string_view name) {
  if (!name.starts_with(module)) return std::nullopt;
  name.remove_prefix(module.size());
  return name.empty() || name == ".weight" || name == ".bias" ? std::optional(name) : std::nullopt;
}

std::string with_number(std::string_view group, std::string_view number) {
  const std::size_t hash = group.find('#');
  if (hash == std::string_view::npos) return std::string(group);
  return fmt::format("{}{}{}", group.substr(0, hash), number, group.substr(hash + 1));
}

// True if every tensor of diffusers is there from which a tensor of the reference is made.
bool has_parts_of(const ImageClass& names, std::string_view wanted, const std::function<bool(std::string_view)>& has) {
  for (const ImageNames& group : names.names) {
    const auto block = in_block(group.to, wanted);
    if (!block) continue;
    const bool found = any_word(group.rows, ' ', [&](std::string_view word) {
      const Row row = row_of(word);
      const auto end = end_behind(row.to, block->rest);
      return end && !any_word(row.from, '+', [&](std::string_view part) {
               return !has(fmt::format("{}{}{}", with_number(group.from, block->number), part, *end));
             });
    });
    if (found) return true;
  }
  return false;
}

std::string_view prefix_of(std::span<const std::string_view> names) {
  for (const std::string_view prefix : prefixes) {
    if (std::ranges::any_of(names, [&](std::string_view name) { return name.starts_with(prefix); })) return prefix;
  }
  const bool is_common = !names.empty() && std::ranges::all_of(names, [](std::string_view name) {
    return name.starts_with(common_prefix);
  });
  return is_common ? common_prefix : std::string_view{};
}

// Architecture names that ComfyUI-GGUF accepts for any image model.
constexpr std::string_view any_model[] = {"pig", "cow"};

// The names of a file without the prefix, for look-up.
class OwnNames {
 public:
  OwnNames(std::span<const std::string_view> names, std::string_view prefix) {
    index_.reserve(names.size());
    for (const std::string_view name : names) {
      if (!name.starts_with(prefix)) continue;
      list_.push_back(name.substr(prefix.size()));
      index_.insert(list_.back());
    }
  }
  bool has(std::string_view name) const { return index_.find(name).has_value(); }
  std::span<const std::string_view> list() const { return list_; }

 private:
  std::vector<std::string_view> list_;
  NameIndex index_;
};

// Returns the class of the model that has a place for most of the names, if they are diffusers'.
const ImageClass* class_of(const ImageModel& model, const OwnNames& names, std::size_t& most) {
  const ImageClass* found = nullptr;
  for (const ImageClass& each : model.classes) {
    if (each.names.empty()) continue;
    const bool is_it = fits(model.detect, [&](std::string_view name) {
      return has_parts_of(each, name, [&](std::string_view part) { return names.has(part); });
    });
    if (!is_it) continue;
    const auto placed = static_cast<std::size_t>(std::ranges::count_if(
        names.list(), [&](std::string_view name) { return image_place(each, name).has_value(); }));
    if (placed <= most) continue;
    most = placed;
    found = &each;
  }
  return found;
}

std::vector<std::string_view> names_of(const gguf::SplitSet& set) {
  std::vector<std::string_view> names;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) names.push_back(tensor.name);
  }
  return names;
}

// Returns general.architecture, or an empty text.
std::string_view stated_architecture(const gguf::SplitSet& set) {
  if (set.files.empty()) return {};
  const gguf::KeyValue* stated = set.files.front().document.find("general.architecture");
  const auto* name = stated == nullptr ? nullptr : std::get_if<std::string>(&stated->value);
  return name == nullptr ? std::string_view{} : *name;
}

}  // namespace

std::span<const ImageModel* const> all_image_models() {
  return all_images;
}

const ImageModel* find_image_model(std::string_view architecture) {
  const auto found = std::ranges::find(all_images, architecture, &ImageModel::name);
  return found == all_images.end() ? nullptr : *found;
}

std::string image_model_names() {
  std::vector<std::string_view> names;
  for (const ImageModel* each : all_images) names.push_back(each->name);
  return modelutils::joined(names);
}

ImageLayout image_layout(std::span<const std::string_view> names) {
  ImageLayout layout{.prefix = prefix_of(names)};
  const OwnNames own(names, layout.prefix);
  const auto has = [&](std::string_view name) { return own.has(name); };
  const auto found = std::ranges::find_if(all_images, [&](const ImageModel* each) { return fits(each->detect, has); });
  if (found != all_images.end()) {
    layout.model = *found;
    return layout;
  }
  std::size_t most = 0;
  for (const ImageModel* each : all_images) {
    if (const ImageClass* names_of_class = class_of(*each, own, most)) {
      layout.model = each;
      layout.names = names_of_class;
    }
  }
  return layout;
}

ImageLayout image_layout(std::span<const std::string_view> names, const ImageModel& model) {
  ImageLayout layout{.model = &model, .prefix = prefix_of(names)};
  // A stray name with the prefix does not hide a model without one.
  const OwnNames plain(names, {});
  if (fits(model.detect, [&](std::string_view name) { return plain.has(name); })) layout.prefix = {};
  const OwnNames own(names, layout.prefix);
  if (!fits(model.detect, [&](std::string_view name) { return own.has(name); })) {
    std::size_t most = 0;
    layout.names = class_of(model, own, most);
  }
  return layout;
}

ImageLayout image_layout(const gguf::SplitSet& set) {
  if (set.files.empty()) return {};
  const std::vector<std::string_view> names = names_of(set);
  if (const ImageModel* model = find_image_model(stated_architecture(set))) return image_layout(names, *model);
  // No image model has llama.cpp's names. Most files end here, without an index of their names.
  if (std::ranges::any_of(names, [](std::string_view name) { return name.starts_with("blk."); })) return {};
  return image_layout(names);
}

std::vector<const ImageVariant*> image_variants(const ImageModel& model, std::span<const std::string_view> names,
                                                const ImageSizes& sizes, std::span<const std::string> words) {
  const auto has = [&](std::string_view part) {
    return std::ranges::any_of(names, [&](std::string_view name) { return contains(name, part); });
  };
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<const ImageVariant*> found;
  for (const ImageVariant& variant : model.variants) {
    const bool contradicts = any_word(variant.parts, ' ', [&](std::string_view part) {
      return part.starts_with('!') ? has(part.substr(1)) : !has(part);
    });
    const bool has_sizes = (variant.inputs == 0 || variant.inputs == sizes.inputs) &&
                           (variant.text == 0 || variant.text == sizes.text) &&
                           (variant.width == 0 || variant.width == sizes.width);
    const bool has_word = variant.word.empty() || std::ranges::any_of(words, [&](const std::string& text) {
                            return std::search(text.begin(), text.end(), variant.word.begin(), variant.word.end(),
                                               [&](char a, char b) { return lower(a) == lower(b); }) != text.end();
                          });
    if (!contradicts && has_sizes && has_word) found.push_back(&variant);
  }
  return found;
}

std::optional<std::string> not_an_image_model(std::span<const std::string_view> names, const ImageLayout& layout,
                                              bool is_named) {
  for (const OtherFile& other : other_files) {
    const bool is_start = other.part.starts_with('^');
    const std::string_view part = is_start ? other.part.substr(1) : other.part;
    const bool has_it = std::ranges::any_of(
        names, [&](std::string_view name) { return is_start ? name.starts_with(part) : contains(name, part); });
    if (has_it) return std::string(other.text);
  }
  if (is_named) return std::nullopt;
  for (const OtherModel& other : other_models) {
    const bool has_it = std::ranges::any_of(names, [&](std::string_view name) {
      return other.tensor.ends_with('.') ? contains(name, other.tensor) : name.ends_with(other.tensor);
    });
    if (has_it) return std::string(other.text);
  }
  if (layout) return std::nullopt;
  std::vector<std::string_view> parts;
  for (const OtherPart& part : other_parts) {
    const bool has_it =
        std::ranges::any_of(names, [&](std::string_view name) { return name.starts_with(part.prefix); });
    if (has_it && std::ranges::find(parts, part.noun) == parts.end()) parts.push_back(part.noun);
  }
  if (!parts.empty()) return fmt::format("has {}, but no diffusion model", modelutils::joined(parts));
  const auto any_begins = [&](std::string_view start) {
    return std::ranges::any_of(names, [&](std::string_view name) { return name.starts_with(start); });
  };
  if (any_begins("encoder.") && any_begins("decoder.")) {
    return "is a VAE, which stays a safetensors file beside the model";
  }
  constexpr std::string_view text_encoders[] = {"text_model.encoder.layers.", "encoder.block.0.layer.0.SelfAttention."};
  for (const std::string_view part : text_encoders) {
    if (std::ranges::any_of(names, [&](std::string_view name) { return contains(name, part); })) {
      return "is a text encoder, not a diffusion model";
    }
  }
  return std::nullopt;
}

bool ImageLayout::has(std::string_view name) const {
  if (!prefix.empty()) return name.starts_with(prefix);
  return std::ranges::none_of(other_parts, [&](const OtherPart& part) { return name.starts_with(part.prefix); });
}

std::string_view image_part_of(std::string_view name) {
  for (const OtherPart& part : other_parts) {
    if (name.starts_with(part.prefix)) return part.prefix;
  }
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(0, dot + 1);
}

bool is_in_image_list(std::string_view list, std::string_view name) {
  return any_word(list, ' ', [&](std::string_view part) {
    return part.starts_with('=') ? name == part.substr(1) : contains(name, part);
  });
}

TensorType plain_image_type(const ImageModel& model, std::string_view name, std::span<const u64> ne,
                            TensorType source) {
  constexpr u64 small = 1024;
  switch (source) {
    case TensorType::F32:
    case TensorType::F16:
    case TensorType::BF16:
    case TensorType::F8_E4M3:
    case TensorType::F8_E5M2: break;
    default: return source;
  }
  if (ne.size() > 4) return TensorType::F32;
  if (source != TensorType::F32 && source != TensorType::BF16) return TensorType::F16;
  const bool is_small = ne.size() < 2 || checked_product(ne).value_or(small + 1) <= small;
  return is_small || is_in_image_list(model.f32, name) ? TensorType::F32 : source;
}

std::vector<u64> stored_image_ne(const ImageModel& model, std::span<const u64> ne) {
  constexpr u64 row = 256;
  const u64 elements = checked_product(ne).value_or(0);
  const bool is_stored_anew =
      model.has_rows_of_256 && ne.size() > 1 && elements >= 2 * row && elements % row == 0 && ne.front() % row != 0;
  return is_stored_anew ? std::vector<u64>{row, elements / row} : std::vector<u64>(ne.begin(), ne.end());
}

std::vector<KnownImageClass> find_image_classes(std::string_view class_name) {
  std::vector<KnownImageClass> found;
  for (const ImageModel* each : all_images) {
    for (const ImageClass& one : each->classes) {
      if (one.name == class_name) found.push_back({each, &one});
    }
  }
  return found;
}

std::optional<ImagePlace> image_place(const ImageClass& names, std::string_view tensor) {
  if (names.names.empty()) return ImagePlace{.name = std::string(tensor)};
  for (const ImageNames& group : names.names) {
    const auto block = in_block(group.from, tensor);
    if (!block) continue;
    ImagePlace place;
    const bool found = any_word(group.rows, ' ', [&](std::string_view word) {
      const Row row = row_of(word);
      place.part = 0;
      return any_word(row.from, '+', [&](std::string_view module) {
        const auto end = end_behind(module, block->rest);
        if (!end) {
          ++place.part;
          return false;
        }
        place.name = fmt::format("{}{}{}", with_number(group.to, block->number), row.to, *end);
        place.parts = static_cast<std::size_t>(std::ranges::count(row.from, '+')) + 1;
        place.swaps = row.swaps;
        place.only_last = row.only_last;
        return true;
      });
    });
    if (!found) continue;
    std::from_chars(block->number.data(), block->number.data() + block->number.size(), place.block);
    return place;
  }
  return std::nullopt;
}

bool is_any_image_model(std::string_view architecture) {
  return std::ranges::find(any_model, architecture) != std::end(any_model);
}

std::string_view image_model_of(const gguf::SplitSet& set) {
  if (const ImageLayout layout = image_layout(set)) return layout.model->name;
  const std::string_view stated = stated_architecture(set);
  return is_any_image_model(stated) ? stated : std::string_view{};
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
