// The syntax tree of a pre-tokenizer's regex, from which regex_form.h makes a canonical form and encode/regex.h a
// program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"

namespace modelutils::tokenizer {

/// Set of characters: the union of its members, or all other characters if it is negated.
struct RegexSet {
  std::vector<std::pair<char32_t, char32_t>> ranges;
  std::vector<std::string> properties;  ///< "\s", "\d", "\w" and their opposites, "\p{L}", "\P{Han}"
  std::vector<RegexSet> nested;
  std::vector<RegexSet> common;  ///< right side of `&&`: at most one set, with which the union is intersected
  bool negated = false;
};

struct RegexNode {
  enum class Kind : u8 { one, sign, look, sequence, alternatives, repeat };
  static constexpr u32 no_limit = ~u32{0};

  Kind kind = Kind::sequence;
  RegexSet set = {};  ///< one: a character of this set
  /// By kind: sign "." "^" "$" "\b" …; look "?=" "?!" "?<=" "?<!" "?>"; repeat "", "?" if it is lazy, "+" if the whole
  /// repetition is repeated.
  std::string sign = {};
  std::vector<RegexNode> children = {};  ///< sequence, alternatives; exactly one for look and repeat
  u32 least = 0, most = 0;               ///< repeat
};

/// Parses a regex. Groups are nodes of kind `alternatives`, and so is the root. Possessive repetitions become plain
/// ones (they differ only if a match must backtrack, which no pre-tokenizer's regex needs), except {n,m}+, which
/// Oniguruma reads as a repetition of the repetition. (?i:…) adds the other case of ASCII letters to the sets.
///
/// Returns nullopt for named groups, back references, more than 32 nested groups, more than 16 KiB, invalid UTF-8 and
/// whatever is not a regex.
std::optional<RegexNode> parse_regex(std::string_view regex);

}  // namespace modelutils::tokenizer
