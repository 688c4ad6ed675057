// Members of a config.json that is to be written: values in the order in which they are to appear.
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
/// An object. Names are distinct.
using ConfigMembers = std::vector<ConfigMember>;

/// null, true or false, a whole number, a decimal (the shortest that reads back to the same float32, infinities as
/// Python writes them), a text, a list, an object.
struct ConfigValue {
  std::variant<std::nullptr_t, bool, u64, float, std::string, std::vector<ConfigValue>, ConfigMembers> value;

  // All are meant to be implicit. Their definitions are below, where a member is complete.
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

/// A list of numbers, texts, flags.
template <typename T>
ConfigValue config_list(const std::vector<T>& values) {
  std::vector<ConfigValue> list;
  for (const T& value : values) list.emplace_back(value);
  return list;
}

/// The member with that name, "a.b" being member b of the object a; nullptr if there is none.
const ConfigValue* find_member(const ConfigMembers& members, std::string_view name);

/// Sets a member, in place where it is there already, else behind the others; makes the objects that "a.b" needs.
void set_member(ConfigMembers& members, std::string_view name, ConfigValue value);

/// A value that is written as JSON has it: "true", "12", "1.5", "[]", "null"; everything else is a text.
ConfigValue config_value_of(std::string_view json);

/// The file: indented by two blanks, lists of numbers and texts on one line, a line feed at the end.
std::string config_text(const ConfigMembers& members);

}  // namespace modelutils::hf
