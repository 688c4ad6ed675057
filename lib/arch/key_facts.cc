#include "arch/key_facts.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

namespace modelutils::arch {

namespace {

constexpr std::string_view of_architecture = "*.";

// Rows by name; rows with '#' are kept separately.
struct KeyIndex {
  std::unordered_map<std::string_view, const KeyFacts*> by_name;
  std::vector<const KeyFacts*> patterns;

  KeyIndex() {
    for (const KeyGroup& group : key_groups()) {
      for (const KeyFacts& row : group.rows) {
        by_name.emplace(row.name, &row);
        if (row.name.find('#') != std::string_view::npos) patterns.push_back(&row);
      }
    }
  }
};

bool matches(std::string_view pattern, std::string_view key) {
  const std::size_t mark = pattern.find('#');
  const std::string_view before = pattern.substr(0, mark), behind = pattern.substr(mark + 1);
  if (key.size() <= before.size() + behind.size() || !key.starts_with(before) || !key.ends_with(behind)) return false;
  const std::string_view between = key.substr(before.size(), key.size() - before.size() - behind.size());
  return between.find('.') == std::string_view::npos;
}

}  // namespace

std::span<const KeyGroup> key_groups() {
  static const std::array<KeyGroup, 5> groups = {{
      {"About the file", general_keys()},
      {"Vocabulary", tokenizer_keys()},
      {"Sizes, experts and layers", model_keys()},
      {"Attention and rotation", attention_keys()},
      {"States, speech and drafts", parts_keys()},
  }};
  return groups;
}

const KeyFacts* find_key_facts(std::string_view key, std::string_view architecture) {
  static const KeyIndex index;
  if (const auto found = index.by_name.find(key); found != index.by_name.end()) return found->second;
  if (!architecture.empty() && key.starts_with(architecture) && key.size() > architecture.size() &&
      key[architecture.size()] == '.') {
    const std::string name = std::string(of_architecture) + std::string(key.substr(architecture.size() + 1));
    const auto found = index.by_name.find(name);
    return found == index.by_name.end() ? nullptr : found->second;
  }
  const auto found = std::ranges::find_if(index.patterns, [&](const KeyFacts* row) { return matches(row->name, key); });
  return found == index.patterns.end() ? nullptr : *found;
}

std::optional<KeyValueType> key_value_type(std::string_view text) {
  using enum gguf::ValueType;
  static constexpr std::pair<std::string_view, gguf::ValueType> names[] = {
      {"u8", u8},   {"i8", i8},   {"u16", u16}, {"i16", i16}, {"u32", u32},      {"i32", i32},
      {"u64", u64}, {"i64", i64}, {"f32", f32}, {"f64", f64}, {"bool", boolean}, {"string", string}};
  const bool is_array = text.ends_with("[]");
  if (is_array) text.remove_suffix(2);
  for (const auto& [name, type] : names) {
    if (name != text) continue;
    return is_array ? KeyValueType{gguf::ValueType::array, type} : KeyValueType{type, std::nullopt};
  }
  return std::nullopt;
}

}  // namespace modelutils::arch
