// A character class of a regex while it is read, and its one form.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/types.h"

namespace modelutils::tokenizer {

/// A set of characters: ranges of code points and properties ("\s", "\p{L}", …), perhaps negated, perhaps cut with
/// others.
class RegexClass {
 public:
  void add(char32_t first, char32_t last);
  void add_property(std::string property);
  void add_class(const RegexClass& nested);
  void negate() { negated_ = true; }
  /// Both cases of each ASCII letter among the ranges.
  void ignore_case();
  /// What follows is the other side of `&&`.
  void intersect(const RegexClass& other) { cuts_.push_back(other.form()); }

  /// "x", "\s", "[a-z\s]", "[^\n\r]", …
  std::string form() const;
  /// Its members, if they are at most `most` and said one by one.
  std::optional<std::vector<std::string>> members(std::size_t most) const;

 private:
  std::map<char32_t, char32_t> joined() const;

  std::vector<std::pair<char32_t, char32_t>> ranges_;
  std::set<std::string> properties_;
  std::vector<std::string> cuts_;
  bool negated_ = false;
};

/// One character as a regex spells it outside a class, or inside one.
std::string regex_literal(char32_t value, bool in_class);

}  // namespace modelutils::tokenizer
