// Splits a path into folder and base name.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Returns the path up to and including its last '/'; empty if it has none.
inline std::string folder_of(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/') + 1));
}

/// Returns the path after its last '/'.
inline std::string base_name_of(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace modelutils
