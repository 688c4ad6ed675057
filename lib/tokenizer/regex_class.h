// A character class of a regex during parsing, and its canonical form.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types.h"

namespace modelutils::tokenizer {

/// A set of characters: ranges of code points and properties ("\s", "\p{L}", …), possibly negated or intersected with
/// other sets.
class RegexClass {
 public:
  void add(char32_t first, char32_t last);
  void add_property(std::string property);
  void add_class(const RegexClass& nested);
  void negate() { negated_ = true; }
  /// Adds the other case of each ASCII letter in the ranges.
  void ignore_case();
  /// Intersects with the right side of `&&`.
  void intersect(const RegexClass& other) { cuts_.push_back(other.form()); }

  /// The canonical form: "x", "\s", "[a-z\s]", "[^\n\r]", …
  std::string form() const;
  /// Returns the members if there are at most `most` and the set has only ranges; else nullopt.
  std::optional<std::vector<std::string>> members(std::size_t most) const;

 private:
  std::map<char32_t, char32_t> joined() const;

  std::vector<std::pair<char32_t, char32_t>> ranges_;
  std::set<std::string> properties_;
  std::vector<std::string> cuts_;
  bool negated_ = false;
};

/// Spells one character as in a regex, outside or inside a class.
std::string regex_literal(char32_t value, bool in_class);

}  // namespace modelutils::tokenizer
