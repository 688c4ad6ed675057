#include "report/st_selection.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/glob.h"

namespace modelutils {

namespace {

// The beginning of a name up to its first part that is a number: "model.layers." and 3.
struct LayerKey {
  std::string_view prefix;
  u64 number = 0;
  std::string_view title;

  auto order() const { return std::tie(prefix, number, title); }
};

LayerKey layer_key(std::string_view name) {
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t dot = name.find('.', begin);
    if (dot == std::string_view::npos) break;
    u64 number = 0;
    const auto [end, error] = std::from_chars(name.data() + begin, name.data() + dot, number);
    if (begin != 0 && error == std::errc{} && end == name.data() + dot) {
      return {name.substr(0, begin), number, name.substr(0, dot)};
    }
    begin = dot + 1;
  }
  return {};
}

}  // namespace

std::vector<u32> select_tensors(const SafetensorsModel& model, const std::vector<std::string>& patterns) {
  std::vector<u32> selected;
  selected.reserve(model.set.listed_count());
  for (std::size_t i = 0; i < model.set.listed_count(); ++i) {
    const auto matches = [&](const std::string& pattern) {
      return glob_match(pattern, model.set.tensor(model.set.listed(i)).name);
    };
    if (patterns.empty() || std::ranges::any_of(patterns, matches)) selected.push_back(static_cast<u32>(i));
  }
  return selected;
}

EachName each_tensor_name(const SafetensorsModel& model) {
  return [&model](const auto& name) {
    for (std::size_t i = 0; i < model.set.listed_count(); ++i) name(model.set.tensor(model.set.listed(i)).name);
  };
}

std::vector<LayerGroup> group_by_layer(const SafetensorsModel& model, const std::vector<u32>& tensors) {
  struct Entry {
    LayerKey key;
    std::string_view name;
    u32 tensor;
  };
  std::vector<Entry> entries;
  entries.reserve(tensors.size());
  for (const u32 tensor : tensors) {
    const std::string_view name = model.set.tensor(model.set.listed(tensor)).name;
    entries.push_back({layer_key(name), name, tensor});
  }
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return a.key.order() != b.key.order() ? a.key.order() < b.key.order() : a.name < b.name;
  });
  std::vector<LayerGroup> groups;
  for (const Entry& entry : entries) {
    if (groups.empty() || groups.back().title != entry.key.title) groups.push_back({entry.key.title, {}});
    groups.back().tensors.push_back(entry.tensor);
  }
  return groups;
}

}  // namespace modelutils
