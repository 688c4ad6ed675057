#include "report/st_get.h"

namespace modelutils {

namespace {

std::string json_text(json::Element element) {
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(element);
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
  if (field->get(list) != simdjson::SUCCESS) return json_text(*field);
  std::string text;
  for (const json::Element element : list) {
    if (!text.empty()) text += '\n';
    text += json_text(element);
  }
  return text;
}

}  // namespace modelutils
