#include "base/closest_name.h"

#include <algorithm>
#include <vector>

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

}  // namespace modelutils
