// Where in a file something is, in the words of every message: "tensor 'NAME'", "key 'NAME'", "module 'PATH'". The only
// way to name a place: a name that a hostile file made long is cut short here and nowhere else.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Views the name: it is copied only when somebody keeps the finding. Raw text; whoever shows it escapes it.
struct Place {
  std::string_view noun;
  std::string_view name;

  /// NOUN 'NAME', the name cut after 120 bytes, between two characters, with "…" for the rest.
  std::string text() const;
  operator std::string() const { return text(); }  // as Finding::where wants it
};

inline Place at_tensor(std::string_view name) {
  return {"tensor", name};
}
/// A key of a GGUF file.
inline Place at_key(std::string_view name) {
  return {"key", name};
}
/// A field of config.json.
inline Place at_field(std::string_view name) {
  return {"config.json field", name};
}
/// A module of an MLX model, by its path.
inline Place at_module(std::string_view path) {
  return {"module", path};
}
inline Place at_file(std::string_view name) {
  return {"file", name};
}

}  // namespace modelutils
