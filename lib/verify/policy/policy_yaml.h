// What of YAML a policy may use, read into memory: maps, lists and texts, at most two containers below the top. Internal.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace modelutils {

struct YamlValue {
  enum class Kind : u8 { text, list, map };

  Kind kind = Kind::text;
  u64 line = 1;
  std::string text;
  bool is_quoted = false;
  std::vector<YamlValue> items;                            ///< of a list
  std::vector<std::pair<std::string, YamlValue>> members;  ///< of a map: distinct names

  /// nullptr if there is no such member.
  const YamlValue* find(std::string_view name) const;
};

/// One document whose top is a map; an empty text is an empty map. Error "policy-syntax" with the line: no YAML, not
/// UTF-8, a second document, an alias, an anchor, a tag, a block of lines, a name that is no text or appears twice,
/// deeper nesting, more than `max_values` values.
Result<YamlValue> parse_policy_yaml(std::string_view text);

inline constexpr std::size_t max_policy_values = 10'000;

}  // namespace modelutils
