// Names a place in a file the same way in every message: "tensor 'NAME'", "key 'NAME'", "module 'PATH'". All places are
// named here, because long names from hostile files are cut here and only here.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Views the name; it is copied only if the finding is kept. Not escaped: the code that prints it must escape it.
struct Place {
  std::string_view noun;
  std::string_view name;

  /// Returns NOUN 'NAME'. Names over 120 bytes are cut at a character boundary and end in "…".
  std::string text() const;
  operator std::string() const { return text(); }  // for Finding::where
};

inline Place at_tensor(std::string_view name) {
  return {"tensor", name};
}
/// Returns the place of a key in a GGUF file.
inline Place at_key(std::string_view name) {
  return {"key", name};
}
/// Returns the place of a field in config.json.
inline Place at_field(std::string_view name) {
  return {"config.json field", name};
}
/// Returns the place of a module in an MLX model, given its path.
inline Place at_module(std::string_view path) {
  return {"module", path};
}
inline Place at_file(std::string_view name) {
  return {"file", name};
}

}  // namespace modelutils
