#include <fmt/core.h>
#include <cstddef>
#include <utility>

#include "c_api/handle.h"

using namespace modelutils;
using namespace modelutils::c_api;

namespace modelutils::c_api {

Result<const gguf::KeyValue*> metadata_entry(const mu_model* model, u64 index) {
  if (model == nullptr) return null_argument("model");
  if (index >= model->metadata.size()) {
    return input_error("api-range",
                       fmt::format("there is no metadata entry {}: the model has {}", index, model->metadata.size()),
                       {}, {}, model->opened.path());
  }
  return &model->metadata[index];
}

}  // namespace modelutils::c_api

namespace {

Result<u64> find_key(const mu_model* model, const char* key) {
  if (model == nullptr) return null_argument("model");
  if (key == nullptr) return null_argument("key");
  const std::optional<u32> number = model->keys.find(key);
  if (!number)
    return input_error("api-not-found", fmt::format("there is no key '{}'", key), {}, {}, model->opened.path());
  return model->entries[*number];
}

tl::unexpected<Error> wrong_type(const gguf::KeyValue& entry, std::string_view wanted) {
  return input_error("api-type",
                     fmt::format("the value is of type {}, not {}", gguf::value_type_name(entry.type()), wanted),
                     at_key(entry.key), entry.offset);
}

// Reads an integer of any width; fails if it does not fit into T.
template <typename T>
Status integer_of(const gguf::KeyValue& entry, T& out) {
  return std::visit(
      [&](const auto& value) -> Status {
        using V = std::decay_t<decltype(value)>;
        if constexpr (std::is_integral_v<V>) {
          if (!std::in_range<T>(value)) {
            return input_error("api-range", fmt::format("{} does not fit", value), at_key(entry.key), entry.offset);
          }
          out = static_cast<T>(value);
          return {};
        } else {
          return wrong_type(entry, "an integer");
        }
      },
      entry.value);
}

Status value_of(const gguf::KeyValue& entry, uint64_t& out) {
  return integer_of(entry, out);
}

Status value_of(const gguf::KeyValue& entry, int64_t& out) {
  return integer_of(entry, out);
}

Status value_of(const gguf::KeyValue& entry, int32_t& out) {
  const auto* value = std::get_if<gguf::Bool>(&entry.value);
  if (value == nullptr) return wrong_type(entry, "BOOL");
  out = value->byte != 0 ? 1 : 0;
  return {};
}

Status value_of(const gguf::KeyValue& entry, double& out) {
  if (const auto* narrow = std::get_if<float>(&entry.value)) {
    out = static_cast<double>(*narrow);
  } else if (const auto* wide = std::get_if<double>(&entry.value)) {
    out = *wide;
  } else {
    return wrong_type(entry, "FLOAT32 or FLOAT64");
  }
  return {};
}

template <typename T>
mu_status by_index(const mu_model* model, u64 index, T* value) noexcept {
  return guarded([&]() -> Status {
    MU_ASSIGN(const gguf::KeyValue* const entry, metadata_entry(model, index));
    if (value == nullptr) return null_argument("value");
    return value_of(*entry, *value);
  });
}

template <typename T>
mu_status by_key(const mu_model* model, const char* key, T* value) noexcept {
  return guarded([&]() -> Status {
    MU_ASSIGN(const u64 index, find_key(model, key));
    if (value == nullptr) return null_argument("value");
    return value_of(model->metadata[index], *value);
  });
}

Status give_string(const gguf::KeyValue& entry, const char** text, uint64_t* size) {
  if (text == nullptr) return null_argument("text");
  const auto* value = std::get_if<std::string>(&entry.value);
  if (value == nullptr) return wrong_type(entry, "STRING");
  give_text(*value, text, size);
  return {};
}

}  // namespace

mu_status mu_metadata_find(const mu_model* model, const char* key, uint64_t* index) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const u64 found, find_key(model, key));
    if (index == nullptr) return null_argument("index");
    *index = found;
    return {};
  });
}

mu_status mu_metadata_info(const mu_model* model, uint64_t index, mu_metadata* info) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const gguf::KeyValue* const entry, metadata_entry(model, index));
    if (info == nullptr) return null_argument("info");
    const auto* array = std::get_if<gguf::ArrayRef>(&entry->value);
    mu_metadata full{};
    full.type = static_cast<int32_t>(entry->type());
    full.element_type = array == nullptr ? -1 : static_cast<int32_t>(array->element_type);
    full.count = array == nullptr ? 1 : array->count;
    give_text(entry->key, &full.key, &full.key_size);
    full.offset = entry->offset;
    return give_struct(full, info, offsetof(mu_metadata, offset) + sizeof(info->offset));
  });
}

mu_status mu_metadata_bool(const mu_model* model, uint64_t index, int32_t* value) {
  return by_index(model, index, value);
}

mu_status mu_metadata_u64(const mu_model* model, uint64_t index, uint64_t* value) {
  return by_index(model, index, value);
}

mu_status mu_metadata_i64(const mu_model* model, uint64_t index, int64_t* value) {
  return by_index(model, index, value);
}

mu_status mu_metadata_f64(const mu_model* model, uint64_t index, double* value) {
  return by_index(model, index, value);
}

mu_status mu_metadata_string(const mu_model* model, uint64_t index, const char** text, uint64_t* size) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const gguf::KeyValue* const entry, metadata_entry(model, index));
    return give_string(*entry, text, size);
  });
}

mu_status mu_get_bool(const mu_model* model, const char* key, int32_t* value) {
  return by_key(model, key, value);
}

mu_status mu_get_u64(const mu_model* model, const char* key, uint64_t* value) {
  return by_key(model, key, value);
}

mu_status mu_get_i64(const mu_model* model, const char* key, int64_t* value) {
  return by_key(model, key, value);
}

mu_status mu_get_f64(const mu_model* model, const char* key, double* value) {
  return by_key(model, key, value);
}

mu_status mu_get_string(const mu_model* model, const char* key, const char** text, uint64_t* size) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const u64 index, find_key(model, key));
    return give_string(model->metadata[index], text, size);
  });
}
