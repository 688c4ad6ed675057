#include "base/glob.h"

#include <cstddef>

#include "base/types.h"

namespace modelutils {

namespace {

// Matches the element at `at` of the pattern (not `*`) against `c` and moves `at` past the element.
bool match_one(std::string_view pattern, std::size_t& at, char c) {
  const char p = pattern[at];
  if (p == '?') {
    ++at;
    return true;
  }
  if (p == '\\' && at + 1 < pattern.size()) {
    at += 2;
    return pattern[at - 1] == c;
  }
  if (p == '[') {
    std::size_t i = at + 1;
    const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    if (negated) ++i;
    const std::size_t first = i;
    bool hit = false;
    while (i < pattern.size() && (pattern[i] != ']' || i == first)) {
      const u8 low = static_cast<u8>(pattern[i]);
      u8 high = low;
      if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
        high = static_cast<u8>(pattern[i + 2]);
        i += 2;
      }
      if (low <= static_cast<u8>(c) && static_cast<u8>(c) <= high) hit = true;
      ++i;
    }
    if (i < pattern.size()) {
      at = i + 1;
      return hit != negated;
    }
  }
  ++at;
  return p == c;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // position after the last `*`, from which matching restarts
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_text = t;
      continue;
    }
    std::size_t next = p;
    if (p < pattern.size() && match_one(pattern, next, text[t])) {
      p = next;
      ++t;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star;
    t = ++star_text;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace modelutils
