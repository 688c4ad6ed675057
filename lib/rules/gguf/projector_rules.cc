// Rules for the keys, types and positions of a projector's towers, besides those of component_rules.cc. llama.cpp's
// multimodal library aborts the process if it finds another type, so these are errors.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "arch/projectors.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/parse.h"
#include "rules/gguf/rule_parts.h"
#include "tensor/types.h"

namespace modelutils::gguf_rules {

namespace {

constexpr std::string_view differs = "projector-differs";
constexpr std::string_view vision_name = "vision";

std::string_view types_text(arch::TowerTypes types) {
  switch (types) {
    case arch::TowerTypes::f32: return "F32";
    case arch::TowerTypes::f32_or_f16: return "F32 or F16";
    case arch::TowerTypes::no_blocks: return "F32, F16 or BF16";
    case arch::TowerTypes::any: break;
  }
  return "any type";
}

bool allows(arch::TowerTypes types, TensorType type) {
  switch (types) {
    case arch::TowerTypes::f32: return type == TensorType::F32;
    case arch::TowerTypes::f32_or_f16: return type == TensorType::F32 || type == TensorType::F16;
    case arch::TowerTypes::no_blocks: return !type_info(type).is_quantized;
    case arch::TowerTypes::any: break;
  }
  return true;
}

class TowerRules {
 public:
  TowerRules(const gguf::SetFile& file, const gguf::Index& index, const arch::Encoder& encoder,
             const arch::Projector& row, FindingLog& log)
      : file_(file), index_(index), encoder_(encoder), row_(row), log_(log) {}

  void check() {
    check_types();
    if (encoder_.name == vision_name) {
      check_picture();
      check_deepstack();
      check_positions();
    } else {
      check_sound();
    }
    check_lists();
    check_activation();
    check_layers();
  }

 private:
  std::string key(std::string_view name) const { return fmt::format("clip.{}.{}", encoder_.name, name); }
  std::optional<u64> number(std::string_view name) const { return index_.unsigned_value(key(name)); }

  void bad_key(const std::string& name, std::string message, std::string_view code = "loader-key") {
    const gguf::KeyValue* entry = index_.key(name);
    log_.error(Scope::model, code, std::move(message), at_key(name),
               entry == nullptr ? std::nullopt : std::optional(entry->offset));
  }
  void bad_number(std::string_view name, u64 least, u64 most) {
    const auto value = number(name);
    if (!value || (*value >= least && *value <= most)) return;
    bad_key(key(name), fmt::format("is {}, but llama.cpp allows {} to {}", *value, least, most));
  }
  void bad_tensor(const gguf::TensorInfo& tensor, std::string_view code, std::string message) {
    log_.error(Scope::model, code, std::move(message), at_tensor(tensor.name), tensor.info_offset);
  }

  template <typename T>
  std::vector<T> numbers(std::string_view name) const {
    const gguf::ArrayRef* array = index_.array_value(key(name));
    constexpr u64 most = 4096;
    if (array == nullptr || gguf::value_size(array->element_type) == 0) return {};
    return gguf::read_numbers<T>(*file_.source, file_.document, *array, 0, most).value_or(std::vector<T>());
  }

  // If there are two towers, each has its own tensors.
  bool is_own(std::string_view name) const {
    const bool is_audio = name.starts_with("a.") || name.starts_with("mm.a.");
    return is_audio == (encoder_.name != vision_name) &&
           (is_audio || name.starts_with("v.") || name.starts_with("mm."));
  }

  void check_types() {
    for (const gguf::TensorInfo& tensor : file_.document.tensors) {
      const auto type = tensor.type();
      const arch::TowerTypes types = arch::tower_types(&row_, tensor.name, tensor.ne);
      if (!type || !is_own(tensor.name) || allows(types, *type)) continue;
      bad_tensor(tensor, "loader-tensor-type",
                 fmt::format("is {}, but llama.cpp requires {} here and aborts at the first {}", type_name(*type),
                             types_text(types), encoder_.name == vision_name ? "picture" : "sound"));
    }
  }

  void check_picture() {
    constexpr u64 largest_image = 8192, largest_patch = 65535;
    bad_number("image_size", 0, largest_image);
    for (const std::string_view name : {"spatial_merge_size", "projector.scale_factor", "patch_size"}) {
      if (name != "patch_size" || number(name) != 0) bad_number(name, 1, largest_patch);  // 0: component_rules.cc
    }
    for (const std::string_view name : {"image_mean", "image_std"}) {
      for (const double value : numbers<double>(name)) {
        const bool is_std = name == "image_std";
        if (std::isfinite(value) && !(is_std && value == 0)) continue;
        bad_key(key(name), fmt::format("has {}: every pixel becomes NaN or infinite", value), differs);
        break;
      }
    }
    const auto least = number("image_min_pixels"), most = number("image_max_pixels");
    if (least && most && *least > *most) {
      bad_key(key("image_min_pixels"), fmt::format("is {}, more than image_max_pixels ({})", *least, *most));
    }
    const auto few = number("preproc_min_tiles"), many = number("preproc_max_tiles");
    if (few && many && *few > *many) {
      bad_key(key("preproc_min_tiles"), fmt::format("is {}, more than preproc_max_tiles ({})", *few, *many));
    }
    if (row_.name == "minicpmv4_6" && arch::merged_patches(index_, row_) != 2 &&
        arch::merged_patches(index_, row_) != 4) {
      bad_key(key("projector.scale_factor"),
              fmt::format("is {}, but llama.cpp allows 2 and 4", arch::merged_patches(index_, row_)));
    }
  }

  void check_sound() {
    constexpr std::string_view of_whisper[] = {"qwen2a", "ultravox", "voxtral", "meralion", "glma", "musicflamingo"};
    const gguf::TensorInfo* bias = index_.tensor("a.blk.0.attn_k.bias");
    if (bias != nullptr && std::ranges::count(of_whisper, row_.name) > 0) {
      bad_tensor(*bias, "loader-tensor-extra", "is not expected: llama.cpp aborts if Whisper's keys have a bias");
    }
    if (row_.name != "gemma4ua") bad_number("num_mel_bins", 1, 256);
  }

  void check_lists() {
    const u64 layers = number("block_count").value_or(0);
    for (const i64 layer : numbers<i64>("feature_layer")) {
      if (layer <= static_cast<i64>(layers)) continue;
      bad_key(key("feature_layer"), fmt::format("has {}, but there are {}", layer, counted(layers, "layer")));
      break;
    }
    const std::size_t offsets = numbers<i64>("projector.spatial_offsets").size();
    if (row_.name == "granite4_vision" && offsets != numbers<i64>("feature_layer").size()) {
      bad_key(key("projector.spatial_offsets"), "must be as long as feature_layer");
    }
  }

  void check_activation() {
    if (index_.bool_value("clip.use_gelu") == true && index_.bool_value("clip.use_silu") == true) {
      bad_key("clip.use_silu", "and clip.use_gelu are both true, which llama.cpp refuses");
    }
  }

  void check_deepstack() {
    const std::vector<u64> marks = numbers<u64>("is_deepstack_layers");
    const u64 layers = std::min<u64>(number("block_count").value_or(0), file_.document.tensors.size());
    if (!marks.empty() && marks.size() != number("block_count")) {
      bad_key(key("is_deepstack_layers"),
              fmt::format("has {}, but there are {}", counted(marks.size(), "element"), counted(layers, "layer")),
              differs);
    }
    for (u64 layer = 0; layer < layers; ++layer) {
      const std::string prefix = fmt::format("v.deepstack.{}.", layer);
      const bool is_marked = layer < marks.size() && marks[static_cast<std::size_t>(layer)] != 0;
      const bool is_there = index_.tensor(prefix + "fc1.weight") != nullptr;
      if (!marks.empty() && is_marked != is_there) {
        bad_key(key("is_deepstack_layers"),
                is_marked ? fmt::format("marks layer {}, but '{}fc1.weight' is missing: the embeddings are too narrow",
                                        layer, prefix)
                          : fmt::format("does not mark layer {}, which has '{}fc1.weight'", layer, prefix),
                differs);
      }
      if (!is_there) continue;
      for (const std::string_view name : {"norm.weight", "norm.bias", "fc1.bias", "fc2.weight", "fc2.bias"}) {
        if (index_.tensor(prefix + std::string(name)) != nullptr) continue;
        log_.error(Scope::model, "loader-tensor-missing", "is missing, but llama.cpp requires it",
                   at_tensor(prefix + std::string(name)));
      }
      const gguf::TensorInfo* last = index_.tensor(prefix + "fc2.weight");
      const gguf::TensorInfo* width = index_.tensor(row_.width);
      if (last == nullptr || width == nullptr || last->ne.size() < 2 || width->ne.size() < 2) continue;
      if (last->ne[1] != width->ne[1]) {
        bad_tensor(*last, "loader-tensor-shape",
                   fmt::format("has shape {}, but '{}' implies an ne1 of {}", shape_text(last->ne), width->name,
                               width->ne[1]));
      }
    }
  }

  void check_positions() {
    const gguf::TensorInfo* table = index_.tensor("v.position_embd.weight");
    if (table == nullptr || table->ne.size() != 2) return;
    constexpr u64 of_minicpm = 70 * 70;
    const auto side = static_cast<u64>(std::sqrt(static_cast<double>(table->ne[1])));
    if (row_.resizes_positions && checked_mul(side, side) != table->ne[1]) {
      bad_tensor(*table, "loader-tensor-shape",
                 fmt::format("has shape {}, but llama.cpp requires a square number of rows", shape_text(table->ne)));
    }
    if (row_.name == "minicpmv4_6" && table->ne[1] < of_minicpm) {
      bad_tensor(*table, "loader-tensor-shape",
                 fmt::format("has shape {}, but llama.cpp reads {} rows", shape_text(table->ne), of_minicpm));
    }
  }

  void check_layers() {
    const auto width = number("embedding_length");
    const std::string first = fmt::format("{}blk.0.", encoder_.prefix);
    const auto tensor = [&](std::string_view name) { return index_.tensor(first + std::string(name)); };
    const gguf::TensorInfo* up = tensor("ffn_up.weight");
    const gguf::TensorInfo* down = tensor("ffn_down.weight");
    if (row_.reorders_feed_forward && up != nullptr && down != nullptr && !up->ne.empty() && !down->ne.empty() &&
        up->ne[0] == width && down->ne[0] == width) {
      log_.warning(Scope::model, "projector-swapped",
                   "is a square matrix: llama.cpp assumes an old file and swaps ffn_up and ffn_down, so the embeddings "
                   "are wrong",
                   at_tensor(down->name), down->info_offset);
    }
    // Whisper's keys have no bias.
    if (encoder_.name != vision_name || tensor("attn_q.bias") == nullptr || tensor("attn_v.bias") == nullptr ||
        tensor("attn_k.bias") != nullptr || tensor("attn_k.weight") == nullptr) {
      return;
    }
    log_.warning(Scope::model, "loader-tensor-uneven",
                 "is missing, but queries and values have one: the file loads but computes something else",
                 at_tensor(first + "attn_k.bias"));
  }

  const gguf::SetFile& file_;
  const gguf::Index& index_;
  const arch::Encoder& encoder_;
  const arch::Projector& row_;
  FindingLog& log_;
};

}  // namespace

void check_tower(const gguf::SetFile& file, const gguf::Index& index, const arch::Encoder& encoder,
                 const arch::Projector& row, FindingLog& log) {
  TowerRules(file, index, encoder, row, log).check();
}

void check_towers(const gguf::Index& index, FindingLog& log) {
  const auto vision = arch::projector_width(index, arch::encoders.front());
  const auto audio = arch::projector_width(index, arch::encoders.back());
  if (!vision || !audio) return;
  const auto of_vision = checked_mul(vision->size, vision->parts), of_audio = checked_mul(audio->size, audio->parts);
  if (of_vision == of_audio) return;
  // Qwen3-Omni is published in this form.
  const bool is_published = vision->parts > 1 && vision->size == audio->size;
  log.add(is_published ? Severity::warning : Severity::error, Scope::model, "projector-towers",
          fmt::format("produces embeddings of {}, but the vision tower of {}: llama.cpp refuses towers that differ",
                      of_audio.value_or(0), of_vision.value_or(0)),
          audio->where, audio->offset);
}

}  // namespace modelutils::gguf_rules
