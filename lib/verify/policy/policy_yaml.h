// Parses the YAML subset of policies into memory: maps, lists and texts, at most two containers below the top.
// Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils {

struct YamlValue {
  enum class Kind : u8 { text, list, map };

  std::string name;  ///< of a member of a map
  Kind kind = Kind::text;
  u64 line = 1;
  std::string text;
  bool is_quoted = false;
  std::vector<YamlValue> items;    ///< for a list
  std::vector<YamlValue> members;  ///< for a map; names are distinct

  /// Returns nullptr if there is no such member.
  const YamlValue* find(std::string_view wanted) const;
};

/// Parses one document whose top level is a map; an empty text is an empty map. Error "policy-syntax" with the line:
/// invalid YAML, invalid UTF-8, a second document, an alias, an anchor, a tag, a block scalar, a name that is not text
/// or appears twice, deeper nesting, more than `max_policy_values` values.
Result<YamlValue> parse_policy_yaml(std::string_view text);

inline constexpr std::size_t max_policy_values = 10'000;

}  // namespace modelutils
