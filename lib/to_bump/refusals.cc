#include "to_bump/refusals.h"

#include <fmt/core.h>

namespace modelutils {

std::string layer_pattern(std::string_view tensor) {
  constexpr std::string_view prefix = "blk.";
  if (!tensor.starts_with(prefix)) return std::string(tensor);
  const std::size_t end = tensor.find_first_not_of("0123456789", prefix.size());
  if (end == std::string_view::npos || end == prefix.size() || tensor[end] != '.') return std::string(tensor);
  return std::string(prefix) + "*" + std::string(tensor.substr(end));
}

void Refusals::add(std::string code, std::string_view kind, std::string_view subject, std::string message,
                   std::string group) {
  std::string like = group.empty() ? fmt::format("'{}'", layer_pattern(subject)) : std::move(group);
  const auto [known, is_new] = known_.try_emplace({code, like}, errors_.size());
  if (!is_new) {
    ++counts_[known->second];
    return;
  }
  std::string where = subject.empty() ? std::string() : Place{kind, subject}.text();
  errors_.push_back({.code = std::move(code), .message = std::move(message), .where = std::move(where)});
  likes_.push_back(std::move(like));
  counts_.push_back(1);
}

std::vector<Error> Refusals::errors() const {
  std::vector<Error> all = errors_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (counts_[i] > 1) all[i].message += fmt::format(" (and {} more like {})", counts_[i] - 1, likes_[i]);
  }
  return all;
}

}  // namespace modelutils
