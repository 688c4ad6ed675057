// Splits names such as "blk.12.attn_q.weight" into stack, layer and role.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/types.h"

namespace modelutils {

/// A tensor name split at its first numeric component. Views into the name.
struct LayerName {
  std::string_view prefix;  ///< "blk", "v.blk", "model.layers"
  u32 layer = 0;
  std::string_view role;  ///< "attn_q.weight"; never empty
};

/// Returns nullopt for names without a number between dots.
std::optional<LayerName> parse_layer_name(std::string_view name);

/// Numbers layers in order of first appearance.
class LayerIndex {
 public:
  /// Returns the number of this layer, which is new if it was not added before.
  std::size_t find_or_add(std::string_view prefix, u32 layer);
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::pair<std::string, u32>, std::size_t, std::less<>> numbers_;
};

}  // namespace modelutils
