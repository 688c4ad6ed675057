#include "report/json_value.h"

#include "listing/gguf_listing.h"

namespace modelutils {

namespace {

// Writes any value except an array.
void write_scalar(json::Writer& json, const ListedValue& value) {
  std::visit(
      [&](const auto& scalar) {
        using T = std::decay_t<decltype(scalar)>;
        if constexpr (std::is_same_v<T, std::string_view>) {
          json.string(scalar);
        } else if constexpr (std::is_same_v<T, bool>) {
          json.boolean(scalar);
        } else if constexpr (std::is_same_v<T, ListedArray>) {
          json.null();
        } else if constexpr (std::is_same_v<T, float>) {
          json.number(static_cast<double>(scalar));
        } else {
          json.number(scalar);
        }
      },
      value);
}

}  // namespace

bool ArrayToJson::begin() {
  json_.begin_array();
  return true;
}

bool ArrayToJson::end() {
  json_.end_array();
  return true;
}

bool ArrayToJson::text(std::string_view text) {
  json_.string(text);
  return true;
}

bool ArrayToJson::scalar(const gguf::Value& value) {
  write_scalar(json_, listed_scalar(value));
  return true;
}

void write_shape(json::Writer& json, std::span<const u64> shape) {
  json.key("shape");
  json.begin_array();
  for (const u64 dim : shape) json.number(dim);
  json.end_array();
}

Status write_json_value(json::Writer& json, const ListedValue& value) {
  const auto* array = std::get_if<ListedArray>(&value);
  if (array == nullptr) {
    write_scalar(json, value);
    return {};
  }
  ArrayToJson elements(json);
  json.begin_array();
  MU_TRY(gguf::visit_array(*array->file->source, array->file->document, array->array, elements));
  json.end_array();
  return {};
}

Status write_array_types(json::Writer& json, ListedArray listed) {
  json.key("array_types");
  json.begin_array();
  gguf::ArrayRef array = listed.array;
  // gguf-py derives the types from the first elements, so an empty array has none.
  while (array.count != 0) {
    json.string(gguf::value_type_name(array.element_type));
    if (array.element_type != gguf::ValueType::array) break;
    MU_ASSIGN(const auto first, gguf::read_values(*listed.file->source, listed.file->document, array, 1));
    if (first.empty() || !std::holds_alternative<gguf::ArrayRef>(first[0])) break;
    array = std::get<gguf::ArrayRef>(first[0]);
  }
  json.end_array();
  return {};
}

void write_texts(json::Writer& out, std::string_view name, std::span<const std::string> texts) {
  out.key(name);
  out.begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

}  // namespace modelutils
