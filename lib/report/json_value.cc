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

Status write_json_value(json::Writer& json, const ListedValue& value) {
  const auto* array = std::get_if<ListedArray>(&value);
  if (array == nullptr) {
    write_scalar(json, value);
    return {};
  }
  ArrayToJson elements(json);
  const auto in_array = json.array();
  MU_TRY(gguf::visit_array(*array->file->source, array->file->document, array->array, elements));
  return {};
}

Status write_array_types(json::Writer& json, ListedArray listed) {
  const auto in_array_types = json.array("array_types");
  gguf::ArrayRef array = listed.array;
  // gguf-py derives the types from the first elements, so an empty array has none.
  while (array.count != 0) {
    json.string(gguf::value_type_name(array.element_type));
    if (array.element_type != gguf::ValueType::array) break;
    MU_ASSIGN(const auto first, gguf::read_values(*listed.file->source, listed.file->document, array, 1));
    if (first.empty() || !std::holds_alternative<gguf::ArrayRef>(first[0])) break;
    array = std::get<gguf::ArrayRef>(first[0]);
  }
  return {};
}

}  // namespace modelutils
