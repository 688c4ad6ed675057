// Keys that are written only where there is something to say.
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

/// Never an empty array: some readers refuse those.
inline void add_list(Keys& keys, std::string_view name, const std::vector<std::string>& items) {
  if (!items.empty()) keys.push_back(gguf::make_key_strings(std::string(name), items));
}

}  // namespace modelutils
