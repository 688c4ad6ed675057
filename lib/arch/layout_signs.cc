#include "arch/layout_signs.h"

#include <optional>

#include "arch/names.h"
#include "hf/tensor_names.h"

namespace modelutils::arch {

namespace {

// True if the shape is mlx-lm's, false if it is the published one; nullopt if both layouts have this shape.
std::optional<bool> is_shape_of_mlx(Telling telling, std::span<const u64> shape) {
  switch (telling) {
    case Telling::convolution:
      if (shape.size() != 3 || (shape[1] == 1) == (shape[2] == 1)) return std::nullopt;
      return shape[2] == 1;
    case Telling::tall_matrix:
      if (shape.size() != 2 || shape[0] == shape[1]) return std::nullopt;
      return shape[0] > shape[1];
    case Telling::name_of_mlx: return true;
    case Telling::published_name: break;
  }
  return false;
}

}  // namespace

void LayoutSigns::see(std::string_view name, std::span<const u64> shape) {
  if (family_.layout_signs.begin() == family_.layout_signs.end()) return;
  const std::string canonical = hf::canonical_name(name);
  if (hf::classify_name(canonical) != hf::NameClass::keep) return;
  for_each_name(family_.layer_prefixes, [&](std::string_view prefix) {
    const std::optional<LayerName> in_layer = layer_name(canonical, prefix);
    if (!in_layer || in_layer->layer >= config_.block_count.value_or(max_layers)) return;
    std::string_view module = in_layer->rest;
    if (module.ends_with(".weight")) module.remove_suffix(std::string_view(".weight").size());
    for (const LayoutSign& sign : family_.layout_signs) {
      const std::optional<bool> of_mlx = module == sign.module ? is_shape_of_mlx(sign.telling, shape) : std::nullopt;
      if (!of_mlx) continue;
      std::string_view& first = *of_mlx ? mlx_ : published_;
      if (first.empty()) first = name;
    }
  });
}

}  // namespace modelutils::arch
