#include "base/not_found.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/types.h"

namespace modelutils {

namespace {

constexpr std::size_t max_given = 64;
constexpr std::size_t max_name = 128;
constexpr u32 max_compared = 20'000;

std::size_t wildcards(std::string_view pattern) {
  return static_cast<std::size_t>(std::ranges::count_if(pattern, [](char c) { return c == '*' || c == '?'; }));
}

// Levenshtein distance, computed row by row, or `limit` if it is at least that. With `is_glob`, the characters that `*`
// and `?` match cost nothing.
std::size_t edit_distance(std::string_view given, std::string_view name, bool is_glob, std::size_t limit) {
  std::vector<std::size_t> row(name.size() + 1);
  for (std::size_t j = 0; j <= name.size(); ++j) row[j] = j;
  for (const char c : given) {
    const bool is_run = is_glob && c == '*';
    std::size_t diagonal = row[0];
    row[0] += is_run ? 0 : 1;
    std::size_t least = row[0];
    for (std::size_t j = 1; j <= name.size(); ++j) {
      const std::size_t above = row[j];
      const bool equal = c == name[j - 1] || (is_glob && c == '?');
      row[j] =
          is_run ? std::min(above, row[j - 1]) : std::min({above + 1, row[j - 1] + 1, diagonal + (equal ? 0u : 1u)});
      diagonal = above;
      least = std::min(least, row[j]);
    }
    if (least >= limit) return limit;
  }
  return row[name.size()];
}

}  // namespace

ClosestName::ClosestName(std::string_view given, Reading reading) : given_(given), is_glob_(reading == Reading::glob) {
  const std::size_t letters = given.size() - (is_glob_ ? wildcards(given) : 0);
  limit_ = letters < 3 || given.size() > max_given ? 0 : letters < 5 ? 2 : 3;
}

void ClosestName::offer(std::string_view name) {
  if (limit_ == 0 || name.size() > max_name) return;
  if (part_.empty() && name.size() > given_.size() && !is_glob_) {
    const std::size_t rest = name.size() - given_.size();
    if ((name.starts_with(given_) && name[given_.size()] == '.') || (name.ends_with(given_) && name[rest - 1] == '.')) {
      part_ = name;
    }
  }
  const std::size_t difference = std::max(name.size(), given_.size()) - std::min(name.size(), given_.size());
  if ((!is_glob_ && difference >= limit_) || compared_ == max_compared) return;
  ++compared_;
  const std::size_t distance = edit_distance(given_, name, is_glob_, limit_);
  if (distance >= limit_) return;
  best_ = name;
  limit_ = distance;  // once 0, offer() returns at once
}

std::string ClosestName::hint(std::string_view otherwise) const {
  return name().empty() ? std::string(otherwise) : " (did you mean '" + name() + "'?)";
}

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

bool pattern_selects(std::string_view pattern, std::string_view text) {
  if (pattern.find_first_of("*?[") != pattern.npos) return glob_match(pattern, text);
  return !pattern.empty() && text.find(pattern) != text.npos;
}

namespace {

std::string how_to_list(std::string_view what, std::string_view lister = {}) {
  return fmt::format("; {}{}--list {}s lists them", lister, lister.empty() ? "" : " ", what);
}

}  // namespace

std::string name_hint(std::string_view what, std::string_view given, const EachName& each_name) {
  ClosestName closest(given);
  each_name([&](std::string_view name) { closest.offer(name); });
  return closest.hint(how_to_list(what));
}

GlobUse::GlobUse(std::string_view option, std::string_view what, const std::vector<std::string>& globs, Match match)
    : option_(option), what_(what), match_(match) {
  for (const std::string& glob : globs) uses_.push_back({glob, ClosestName(glob, ClosestName::Reading::glob)});
}

void GlobUse::look_at(const EachName& each_name) {
  for (Use& use : uses_) {
    if (use.is_matched) continue;
    each_name([&](std::string_view name) {
      if (use.is_matched) return;
      use.is_matched = match_(use.glob, name);
      if (!use.is_matched) use.closest.offer(name);
    });
  }
}

std::vector<Error> GlobUse::unused(const std::string& path, std::string_view lister) const {
  std::vector<Error> errors;
  for (const Use& use : uses_) {
    if (use.is_matched) continue;
    std::string message = fmt::format("matches no {}{}", what_, use.closest.hint(how_to_list(what_, lister)));
    errors.push_back(no_match_error(fmt::format("{} '{}'", option_, use.glob), std::move(message), path).value());
  }
  return errors;
}

}  // namespace modelutils
