// The component trees of tokenizer.json (normalizer, pre_tokenizer, decoder, post_processor) as flat lists.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "json/reader.h"

namespace modelutils::tokenizer {

/// One component: an object with a `type`.
struct Component {
  std::string_view type;  ///< empty if the object has none
  json::Element value;
};

/// Returns the member `key` of `root` as a list, with every Sequence replaced by its members in order. `members` is the
/// name of a Sequence's array, e.g. "pretokenizers". Returns an empty list if the member is null or absent. Not
/// recursive. Keeps at most 256 components (no known tokenizer has more than ten).
std::vector<Component> flatten(json::Element root, std::string_view key, std::string_view members);

std::vector<Component> pre_tokenizers(json::Element root);
std::vector<Component> normalizers(json::Element root);
std::vector<Component> decoders(json::Element root);
std::vector<Component> post_processors(json::Element root);

/// True if a component has this type.
bool has_type(const std::vector<Component>& components, std::string_view type);

}  // namespace modelutils::tokenizer
