#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "c_api/handle.h"
#include "formats/gguf/arrays.h"
#include "formats/gguf/parse.h"

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
                     fmt::format("the value is of type {}, not {}", gguf::short_type_name(entry.type()), wanted),
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
  if (value == nullptr) return wrong_type(entry, "bool");
  out = value->byte != 0 ? 1 : 0;
  return {};
}

Status value_of(const gguf::KeyValue& entry, double& out) {
  if (const auto* narrow = std::get_if<float>(&entry.value)) {
    out = static_cast<double>(*narrow);
  } else if (const auto* wide = std::get_if<double>(&entry.value)) {
    out = *wide;
  } else {
    return wrong_type(entry, "f32 or f64");
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
  if (value == nullptr) return wrong_type(entry, "string");
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

// GGUF arrays, which are read from the file on demand.

namespace {

// Number of values read at a time.
constexpr u64 piece = 32 * 1024;

struct Array {
  const gguf::SetFile* file;  // only GGUF has arrays, and only a set's first file has keys
  const gguf::KeyValue* entry;
  gguf::ArrayRef ref;
};

Result<Array> array_entry(const mu_model* model, u64 index) {
  MU_ASSIGN(const gguf::KeyValue* const entry, metadata_entry(model, index));
  const auto* ref = std::get_if<gguf::ArrayRef>(&entry->value);
  if (ref == nullptr) {
    return input_error("api-type",
                       fmt::format("the value is of type {}, not an array", gguf::short_type_name(entry->type())),
                       at_key(entry->key), entry->offset);
  }
  return Array{&model->opened.gguf->files.front(), entry, *ref};
}

tl::unexpected<Error> wrong_elements(const Array& array, std::string_view wanted) {
  return input_error(
      "api-type",
      fmt::format("the array has elements of type {}, not {}", gguf::short_type_name(array.ref.element_type), wanted),
      at_key(array.entry->key), array.entry->offset);
}

bool is_float(gguf::ValueType type) {
  return type == gguf::ValueType::f32 || type == gguf::ValueType::f64;
}

bool is_signed(gguf::ValueType type) {
  return type == gguf::ValueType::i8 || type == gguf::ValueType::i16 || type == gguf::ValueType::i32 ||
         type == gguf::ValueType::i64;
}

// Copies elements by way of From, a type that holds every value of the array's type.
template <typename From, typename To>
Status copy_numbers(const Array& array, u64 first, u64 count, To* out) {
  while (count != 0) {
    const u64 now = std::min(count, piece);
    MU_ASSIGN(const std::vector<From> numbers,
              gguf::read_numbers<From>(*array.file->source, array.file->document, array.ref, first, now));
    for (const From number : numbers) {
      if constexpr (std::is_integral_v<To>) {
        if (!std::in_range<To>(number)) {
          return input_error("api-range", fmt::format("element {} does not fit", number), at_key(array.entry->key),
                             array.entry->offset);
        }
      }
      *out++ = static_cast<To>(number);
    }
    first += now;
    count -= now;
  }
  return {};
}

template <typename T>
mu_status read_array(const mu_model* model, u64 index, u64 first, u64 count, T* out) noexcept {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Array array, array_entry(model, index));
    const gguf::ValueType type = array.ref.element_type;
    if (gguf::value_size(type) == 0) return wrong_elements(array, "numbers");
    if (std::is_integral_v<T> && is_float(type)) return wrong_elements(array, "integers");
    if (!fits(first, count, array.ref.count)) {
      return input_error("api-range", fmt::format("the array has {} elements", array.ref.count),
                         at_key(array.entry->key), array.entry->offset);
    }
    if (count == 0) return {};
    if (out == nullptr) return null_argument("out");
    // Integers are converted directly: going through double could round twice.
    if constexpr (!std::is_integral_v<T>) {
      if (is_float(type)) return copy_numbers<double>(array, first, count, out);
    }
    return is_signed(type) ? copy_numbers<i64>(array, first, count, out) : copy_numbers<u64>(array, first, count, out);
  });
}

Result<std::unique_ptr<StringArray>> load_strings(const Array& array) {
  auto strings = std::make_unique<StringArray>();
  strings->begin.push_back(0);
  MU_TRY(
      gguf::visit_strings(*array.file->source, array.file->document, array.ref, [&](u64, std::string_view text, u64) {
        strings->text += text;
        strings->text += '\0';
        strings->begin.push_back(strings->text.size());
        return true;
      }));
  return strings;
}

// Returns the strings of an array, reading them on first use.
Result<const StringArray*> strings_of(const mu_model& model, const Array& array, u64 index) {
  const std::scoped_lock lock(model.mutex);
  const auto known = model.string_arrays.find(index);
  if (known != model.string_arrays.end()) return known->second.get();
  MU_ASSIGN(std::unique_ptr<StringArray> loaded, load_strings(array));
  return model.string_arrays.emplace(index, std::move(loaded)).first->second.get();
}

}  // namespace

mu_status mu_array_f32(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, float* out) {
  return read_array(model, index, first, count, out);
}

mu_status mu_array_f64(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, double* out) {
  return read_array(model, index, first, count, out);
}

mu_status mu_array_u64(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, uint64_t* out) {
  return read_array(model, index, first, count, out);
}

mu_status mu_array_i64(const mu_model* model, uint64_t index, uint64_t first, uint64_t count, int64_t* out) {
  return read_array(model, index, first, count, out);
}

mu_status mu_array_string(const mu_model* model, uint64_t index, uint64_t element, const char** text, uint64_t* size) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Array array, array_entry(model, index));
    if (array.ref.element_type != gguf::ValueType::string) return wrong_elements(array, "string");
    if (text == nullptr) return null_argument("text");
    if (element >= array.ref.count) {
      return input_error("api-range", fmt::format("the array has {} elements", array.ref.count),
                         at_key(array.entry->key), array.entry->offset);
    }
    MU_ASSIGN(const StringArray* const strings, strings_of(*model, array, index));
    const u64 begin = strings->begin[element];
    give_text(std::string_view(strings->text).substr(begin, strings->begin[element + 1] - begin - 1), text, size);
    return {};
  });
}

mu_status mu_array_strings(const mu_model* model, uint64_t index, const char** text, const uint64_t** begin,
                           uint64_t* count) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Array array, array_entry(model, index));
    if (array.ref.element_type != gguf::ValueType::string) return wrong_elements(array, "string");
    if (text == nullptr) return null_argument("text");
    if (begin == nullptr) return null_argument("begin");
    MU_ASSIGN(const StringArray* const strings, strings_of(*model, array, index));
    *text = strings->text.c_str();
    *begin = strings->begin.data();
    if (count != nullptr) *count = strings->begin.size() - 1;
    return {};
  });
}

mu_status mu_array_next_strings(const mu_model* model, uint64_t index, uint64_t* position, char* out, uint64_t capacity,
                                uint64_t* count, uint64_t* size) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Array array, array_entry(model, index));
    if (array.ref.element_type != gguf::ValueType::string) return wrong_elements(array, "string");
    if (position == nullptr) return null_argument("position");
    if (count == nullptr) return null_argument("count");
    if (out == nullptr && capacity != 0) return null_argument("out");
    u64 taken = 0;
    u64 used = 0;
    u64 needed = 0;
    const auto take = [&](std::string_view text) {
      if (text.size() >= capacity - used) {
        needed = text.size() + 1;
        return false;
      }
      std::memcpy(out + used, text.data(), text.size());
      used += text.size();
      out[used++] = '\0';
      ++taken;
      return true;
    };
    MU_TRY(gguf::take_strings(*array.file->source, array.file->document, array.ref, *position, take));
    *count = taken;
    if (size != nullptr) *size = taken == 0 ? needed : used;
    if (taken == 0 && needed != 0) {
      return input_error("api-buffer", fmt::format("the next string needs {} bytes", needed), at_key(array.entry->key));
    }
    return {};
  });
}
