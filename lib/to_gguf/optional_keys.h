// Helpers that add a key only if it has a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/write.h"

namespace modelutils {

using Keys = std::vector<gguf::OutKey>;

inline void add_text(Keys& keys, std::string_view name, const std::optional<std::string>& text) {
  if (text) keys.push_back(gguf::make_key_string(std::string(name), *text));
}

/// Skips empty arrays, which some readers refuse.
inline void add_list(Keys& keys, std::string_view name, const std::vector<std::string>& items) {
  if (!items.empty()) keys.push_back(gguf::make_key_strings(std::string(name), items));
}

}  // namespace modelutils
