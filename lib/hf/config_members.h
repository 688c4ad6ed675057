// Members of a config.json to be written, in output order.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/types.h"

namespace modelutils::hf {

struct ConfigMember;
/// A JSON object with distinct names.
using ConfigMembers = std::vector<ConfigMember>;

/// A JSON value: null, a boolean, a whole number, a decimal (the shortest that parses to the same float32; infinities
/// as Python writes them), a string, a list or an object.
struct ConfigValue {
  std::variant<std::nullptr_t, bool, u64, float, std::string, std::vector<ConfigValue>, ConfigMembers> value;

  // The constructors are implicit on purpose. They are defined below, after ConfigMember is complete.
  ConfigValue();
  ConfigValue(std::nullptr_t);                     // NOLINT
  ConfigValue(bool flag);                          // NOLINT
  ConfigValue(std::unsigned_integral auto count);  // NOLINT
  ConfigValue(std::floating_point auto real);      // NOLINT
  ConfigValue(std::string text);                   // NOLINT
  ConfigValue(std::string_view text);              // NOLINT
  ConfigValue(const char* text);                   // NOLINT
  ConfigValue(std::vector<ConfigValue> list);      // NOLINT
  ConfigValue(ConfigMembers members);              // NOLINT
};

struct ConfigMember {
  std::string name;
  ConfigValue value;
};

inline ConfigValue::ConfigValue() : value(nullptr) {}
inline ConfigValue::ConfigValue(std::nullptr_t) : value(nullptr) {}
inline ConfigValue::ConfigValue(bool flag) : value(flag) {}
inline ConfigValue::ConfigValue(std::unsigned_integral auto count) : value(u64{count}) {}
inline ConfigValue::ConfigValue(std::floating_point auto real) : value(static_cast<float>(real)) {}
inline ConfigValue::ConfigValue(std::string text) : value(std::move(text)) {}
inline ConfigValue::ConfigValue(std::string_view text) : value(std::string(text)) {}
inline ConfigValue::ConfigValue(const char* text) : value(std::string(text)) {}
inline ConfigValue::ConfigValue(std::vector<ConfigValue> list) : value(std::move(list)) {}
inline ConfigValue::ConfigValue(ConfigMembers members) : value(std::move(members)) {}

/// Returns a list of numbers, strings or booleans.
template <typename T>
ConfigValue config_list(const std::vector<T>& values) {
  std::vector<ConfigValue> list;
  for (const T& value : values) list.emplace_back(value);
  return list;
}

/// Returns the member with this name, or nullptr. "a.b" is member b of the object a.
const ConfigValue* find_member(const ConfigMembers& members, std::string_view name);

/// Sets a member: replaces an existing one in place, or appends it. Creates the objects that "a.b" needs.
void set_member(ConfigMembers& members, std::string_view name, ConfigValue value);

/// Parses a value in JSON notation: "true", "12", "1.5", "[]", "null". Any other text becomes a string.
ConfigValue config_value_of(std::string_view json);

/// Returns the file's text: indented by two spaces, lists of numbers and strings on one line, a line feed at the end.
std::string config_text(const ConfigMembers& members);

}  // namespace modelutils::hf
