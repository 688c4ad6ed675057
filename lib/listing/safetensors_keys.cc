#include "listing/safetensors_keys.h"

#include <unordered_set>

namespace modelutils {

namespace {

std::string json_text(json::Element element) {
  std::string_view text;
  if (element.get(text)) return std::string(text);
  return element.text();
}

void append_members(std::vector<std::string>& keys, json::Element element) {
  json::Object object;
  if (!element.get(object)) return;
  for (const auto member : object) {
    if (!member.value.is_null()) keys.emplace_back(member.key);
  }
}

}  // namespace

std::optional<std::string> st_value(const SafetensorsModel& model, std::string_view key) {
  for (const safetensors::MetadataEntry& entry : model.set.metadata()) {
    if (entry.key == key) return std::string(entry.value);
  }
  if (!model.config || !model.set.is_directory) return std::nullopt;
  const std::optional<json::Element> field = model.config->field(key);
  if (!field) return std::nullopt;
  json::Array list;
  if (!field->get(list)) return json_text(*field);
  std::string text;
  for (const json::Element element : list) {
    if (!text.empty()) text += '\n';
    text += json_text(element);
  }
  return text;
}

std::vector<std::string> st_keys(const SafetensorsModel& model) {
  std::vector<std::string> all;
  for (const safetensors::MetadataEntry& entry : model.set.metadata()) all.emplace_back(entry.key);
  if (model.config && model.set.is_directory) {
    if (model.config->overlay) append_members(all, *model.config->overlay);
    if (model.config->document) append_members(all, model.config->document->root);
  }
  std::vector<std::string> keys;
  std::unordered_set<std::string_view> seen;
  for (const std::string& key : all) {
    if (seen.insert(key).second) keys.push_back(key);
  }
  return keys;
}

}  // namespace modelutils
