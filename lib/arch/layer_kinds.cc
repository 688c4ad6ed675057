#include "arch/layer_kinds.h"

#include <algorithm>

#include "arch/geometry.h"
#include "hf/config.h"

namespace modelutils::arch {

std::vector<u64> counts_of_layers(const hf::Config& config, std::string_view field) {
  std::vector<u64> counts;
  const auto found = config.field(field);
  json::Array list;
  if (!found || !found->get(list)) return counts;
  for (const json::Element element : list) {
    u64 count = 0;
    if (!element.get(count)) return {};
    counts.push_back(count);
  }
  return counts;
}

std::vector<double> numbers_of_layers(const hf::Config& config, std::string_view field) {
  std::vector<double> numbers;
  const auto found = config.field(field);
  json::Array list;
  if (!found || !found->get(list)) return numbers;
  for (const json::Element one : list) {
    double value = 0;
    numbers.push_back(one.get(value) ? value : 0);
  }
  return numbers;
}

std::vector<std::string> kinds_of_layers(const hf::Config& config, std::string_view fields) {
  std::vector<std::string> kinds;
  const auto found = config.field(stated_field(config, fields));
  if (!found) return kinds;
  if (std::string_view letters; found->get(letters)) {
    for (const char letter : letters) kinds.emplace_back(1, letter);
    return kinds;
  }
  json::Array list;
  if (!found->get(list)) return kinds;
  for (const json::Element element : list) {
    std::string_view word;
    if (!element.get(word)) return {};
    kinds.emplace_back(word);
  }
  return kinds;
}

std::vector<u64> in_layers(const std::vector<std::string>& kinds, std::initializer_list<std::string_view> wanted,
                           u64 value) {
  std::vector<u64> values;
  for (const std::string& kind : kinds) {
    values.push_back(std::find(wanted.begin(), wanted.end(), kind) != wanted.end() ? value : 0);
  }
  return values;
}

}  // namespace modelutils::arch
