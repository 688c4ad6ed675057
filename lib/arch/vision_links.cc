#include "arch/vision_links.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "arch/geometry.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

namespace {

// Converts a layer number to an index; negative numbers count from the end.
std::optional<u64> layer_at(json::Element value, u64 layers) {
  i64 at = 0;
  if (!value.get(at)) return std::nullopt;
  if (at < 0) at += static_cast<i64>(std::min<u64>(layers, max_layers));
  return at < 0 ? std::nullopt : std::optional(static_cast<u64>(at));
}

}  // namespace

std::vector<VisionLink> vision_links(const hf::Config& config) {
  const u64 vision_layers = config.count_field("vision_config.num_hidden_layers").value_or(0);
  const u64 text_layers = config.count_field("text_config.num_hidden_layers").value_or(0);
  std::vector<VisionLink> links;
  json::Array list;
  if (const auto field = config.field("deepstack_layer_map"); field && field->get(list)) {
    std::vector<std::pair<i64, i64>> pairs;
    for (const json::Element each : list) {
      json::Array pair;
      std::pair<i64, i64> layers;
      if (!each.get(pair) || pair.size() != 2 || !pair.at(0)->get(layers.first) || !pair.at(1)->get(layers.second)) {
        return {};
      }
      pairs.push_back(layers);
    }
    std::ranges::sort(pairs);
    for (const auto& [vision, text] : pairs) {
      const auto from_end = [](i64 layer, u64 layers) {
        return static_cast<u64>(layer < 0 ? layer + static_cast<i64>(std::min<u64>(layers, max_layers)) : layer);
      };
      links.push_back({from_end(vision, vision_layers), from_end(text, text_layers), links.size(), false});
    }
  }
  if (const auto field = config.field("spatial_target_layers"); field && field->get(list)) {
    const auto stated = config.field("spatial_vision_layer");
    const u64 vision =
        stated ? layer_at(*stated, vision_layers).value_or(0) : vision_layers - std::min<u64>(vision_layers, 1);
    u64 number = 0;
    for (const json::Element each : list) {
      const auto text = layer_at(each, text_layers);
      if (!text) return {};
      links.push_back({vision, *text, number++, true});
    }
  }
  if (links.size() > max_layers) return {};
  std::ranges::stable_sort(links, {}, &VisionLink::text);
  return links;
}

std::vector<i32> projectors_of_layers(const hf::Config& config, u64 layers) {
  const std::vector<VisionLink> links = vision_links(config);
  if (links.empty() || layers > max_layers) return {};
  std::vector<i32> numbers(static_cast<std::size_t>(layers), -1);
  for (std::size_t i = 1; i < links.size(); ++i) {
    if (links[i].text < layers) numbers[static_cast<std::size_t>(links[i].text)] = static_cast<i32>(i);
  }
  return numbers;
}

}  // namespace modelutils::arch
