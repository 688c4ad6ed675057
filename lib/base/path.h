// The two halves of a path, for names beside a file and names that survive a move.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// The part of a path up to and with its last '/'; empty if it has none.
inline std::string folder_of(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/') + 1));
}

/// The part behind the last '/'.
inline std::string base_name_of(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace modelutils
