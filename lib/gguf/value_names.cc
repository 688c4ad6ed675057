#include "gguf/value_names.h"

#include <array>

namespace modelutils::gguf {

namespace {

// In the order of the type ids.
constexpr std::array<std::string_view, 13> names = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                    "bool", "string", "array", "u64", "i64", "f64"};

}  // namespace

std::string_view short_type_name(ValueType type) {
  return names[static_cast<std::size_t>(type)];
}

std::optional<ValueType> type_from_short_name(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<ValueType>(i);
  }
  return std::nullopt;
}

}  // namespace modelutils::gguf
