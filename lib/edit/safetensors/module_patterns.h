// Patterns of module names in quantisation settings, after layers were dropped: "model.layers.3.mlp", globs such as
// "model.layers.3*", and regular expressions after "re:". Source: docs/st-edit.md.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::to_safetensors {

/// The layers of a model before and after layers were dropped.
struct LayerNumbers {
  std::set<std::string_view> words;               ///< before the number in names: "layers"
  std::set<u64> present;                          ///< numbers before
  std::function<std::optional<u64>(u64)> number;  ///< the number after; nullopt for a dropped layer
};

/// Returns the patterns that select the same modules afterwards; none if all are dropped. The pattern itself if it
/// selects no layers by number. nullopt if it selects some of them in a way that cannot be renumbered, such as
/// "layers\.[0-3]\.".
std::optional<std::vector<std::string>> renumbered_pattern(const std::string& pattern, const LayerNumbers& layers);

}  // namespace modelutils::to_safetensors
