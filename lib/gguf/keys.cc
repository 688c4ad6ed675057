#include "gguf/keys.h"

namespace modelutils::gguf {

Index::Index(const Document& document) {
  keys_.reserve(document.keys.size());
  key_entries_.reserve(document.keys.size());
  for (const KeyValue& entry : document.keys) {
    if (keys_.insert(entry.key).is_new) key_entries_.push_back(&entry);
  }
  tensors_.reserve(document.tensors.size());
  tensor_entries_.reserve(document.tensors.size());
  for (const TensorInfo& entry : document.tensors) {
    if (tensors_.insert(entry.name).is_new) tensor_entries_.push_back(&entry);
  }
}

const KeyValue* Index::key(std::string_view key) const {
  const std::optional<u32> number = keys_.find(key);
  return number ? key_entries_[*number] : nullptr;
}

const TensorInfo* Index::tensor(std::string_view name) const {
  const std::optional<u32> number = tensors_.find(name);
  return number ? tensor_entries_[*number] : nullptr;
}

std::optional<u64> Index::unsigned_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  if (entry == nullptr) return std::nullopt;
  return std::visit(
      [](const auto& value) -> std::optional<u64> {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_integral_v<T>) {
          if constexpr (std::is_signed_v<T>) {
            if (value < 0) return std::nullopt;
          }
          return static_cast<u64>(value);
        } else {
          return std::nullopt;
        }
      },
      entry->value);
}

std::optional<double> Index::float_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  if (entry == nullptr) return std::nullopt;
  if (const float* narrow = std::get_if<float>(&entry->value)) return static_cast<double>(*narrow);
  if (const double* wide = std::get_if<double>(&entry->value)) return *wide;
  return std::nullopt;
}

std::optional<bool> Index::bool_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  const Bool* value = entry == nullptr ? nullptr : std::get_if<Bool>(&entry->value);
  if (value == nullptr) return std::nullopt;
  return value->byte != 0;
}

std::optional<std::string_view> Index::string_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  const std::string* value = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value);
  if (value == nullptr) return std::nullopt;
  return *value;
}

const ArrayRef* Index::array_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  return entry == nullptr ? nullptr : std::get_if<ArrayRef>(&entry->value);
}

std::string_view Index::architecture() const {
  return string_value("general.architecture").value_or("");
}

std::string Index::arch_key(std::string_view suffix) const {
  std::string name(architecture());
  name += '.';
  name += suffix;
  return name;
}

}  // namespace modelutils::gguf
