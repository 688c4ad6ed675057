#include "gguf/document.h"

#include <fmt/core.h>

#include <array>

#include "base/utf8.h"
#include "tensor/shape.h"

namespace modelutils::gguf {

namespace {

struct ValueTypeRow {
  std::string_view name;
  u32 size;
};

constexpr std::array<ValueTypeRow, 13> value_types = {{{"UINT8", 1},
                                                       {"INT8", 1},
                                                       {"UINT16", 2},
                                                       {"INT16", 2},
                                                       {"UINT32", 4},
                                                       {"INT32", 4},
                                                       {"FLOAT32", 4},
                                                       {"BOOL", 1},
                                                       {"STRING", 0},
                                                       {"ARRAY", 0},
                                                       {"UINT64", 8},
                                                       {"INT64", 8},
                                                       {"FLOAT64", 8}}};
static_assert(std::variant_size_v<Value> == value_types.size());

}  // namespace

u32 value_size(ValueType type) {
  return value_types[static_cast<std::size_t>(type)].size;
}

std::string_view value_type_name(ValueType type) {
  return value_types[static_cast<std::size_t>(type)].name;
}

std::optional<ValueType> value_type_from_id(u32 id) {
  if (id >= value_types.size()) return std::nullopt;
  return static_cast<ValueType>(id);
}

std::optional<u64> TensorInfo::bytes() const {
  const std::optional<TensorType> known = type();
  if (!known || ne.size() > max_dims) return std::nullopt;
  return tensor_bytes(*known, ne);
}

std::optional<u64> TensorInfo::elements() const {
  if (ne.size() > max_dims) return std::nullopt;
  return element_count(ne);
}

const KeyValue* Document::find(std::string_view key) const {
  for (const KeyValue& entry : keys) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

const TensorInfo* Document::find_tensor(std::string_view tensor) const {
  for (const TensorInfo& entry : tensors) {
    if (entry.name == tensor) return &entry;
  }
  return nullptr;
}

}  // namespace modelutils::gguf
