#include "gguf/document.h"

#include <fmt/format.h>

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

// A name from a file may be a megabyte long; a message shows its beginning, cut between two characters.
std::string place(std::string_view kind, std::string_view name) {
  constexpr std::size_t most = 120;
  if (name.size() <= most) return fmt::format("{} '{}'", kind, name);
  std::size_t cut = 0;
  while (true) {
    const std::size_t next = cut + decode_utf8(name.substr(cut)).size;
    if (next > most) break;
    cut = next;
  }
  return fmt::format("{} '{}…'", kind, name.substr(0, cut));
}

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

std::string where_key(std::string_view key) {
  return place("key", key);
}
std::string where_tensor(std::string_view name) {
  return place("tensor", name);
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
