#include "tokenizer/read/pipeline.h"

#include <algorithm>

namespace modelutils::tokenizer {

namespace {

constexpr std::size_t max_components = 256;

}  // namespace

std::vector<Component> flatten(json::Element root, std::string_view key, std::string_view members) {
  std::vector<Component> flat;
  const auto top = json::member(root, key);
  if (!top) return flat;
  // A stack of components to visit, the next one last.
  std::vector<json::Element> pending = {*top};
  while (!pending.empty() && flat.size() < max_components) {
    const json::Element element = pending.back();
    pending.pop_back();
    const std::string_view type = json::string_member(element, "type").value_or("");
    if (type != "Sequence") {
      flat.push_back({type, element});
      continue;
    }
    const auto inner = json::array_member(element, members);
    if (!inner) continue;
    const std::size_t first = pending.size();
    for (const json::Element member : *inner) {
      if (pending.size() - first == max_components) break;
      pending.push_back(member);
    }
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(first), pending.end());
  }
  return flat;
}

std::vector<Component> pre_tokenizers(json::Element root) {
  return flatten(root, "pre_tokenizer", "pretokenizers");
}
std::vector<Component> normalizers(json::Element root) {
  return flatten(root, "normalizer", "normalizers");
}
std::vector<Component> decoders(json::Element root) {
  return flatten(root, "decoder", "decoders");
}
std::vector<Component> post_processors(json::Element root) {
  return flatten(root, "post_processor", "processors");
}

bool has_type(const std::vector<Component>& components, std::string_view type) {
  return std::any_of(components.begin(), components.end(), [&](const Component& one) { return one.type == type; });
}

}  // namespace modelutils::tokenizer
