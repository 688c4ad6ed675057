#include "formats/gguf/write.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/byte_reader.h"
#include "base/name_index.h"
#include "base/types.h"
#include "formats/gguf/arrays.h"
#include "formats/gguf/document.h"
#include "tensor/types.h"

namespace modelutils::gguf {

namespace {

constexpr std::size_t max_key_bytes = 65535;
constexpr u64 default_alignment = 32;
constexpr u64 max_alignment = u64{16} << 20;  // the header's padding is built in memory

template <typename T>
OutKey scalar(std::string key, ValueType type, T value) {
  OutKey out{std::move(key), type, {}};
  put(out.encoded, value);
  return out;
}

template <typename T>
OutKey numbers(std::string key, ValueType element_type, const std::vector<T>& values) {
  OutKey out{std::move(key), ValueType::array, {}};
  out.encoded.reserve(array_head_bytes + values.size() * sizeof(T));
  put<u32>(out.encoded, static_cast<u32>(element_type));
  put<u64>(out.encoded, values.size());
  for (const T value : values) put(out.encoded, value);
  return out;
}

Status check_key(const OutKey& key) {
  if (key.key.empty() || key.key.size() > max_key_bytes) {
    return input_error("gguf-write-key",
                       fmt::format("a key is {} bytes long, 1 to {} are allowed", key.key.size(), max_key_bytes),
                       at_key(key.key));
  }
  const u32 size = value_size(key.type);
  if (size != 0 && key.encoded.size() != size) {
    return internal_error(
        fmt::format("{}: {} bytes encoded for a {}", key.key, key.encoded.size(), short_type_name(key.type)));
  }
  return {};
}

Status check_alignment(const std::vector<OutKey>& keys, u64 alignment) {
  if (!is_power_of_two(alignment) || alignment > max_alignment) {
    return input_error("gguf-write-alignment",
                       fmt::format("alignment is {}, it must be a power of two up to {}", alignment, max_alignment));
  }
  u64 said = default_alignment;
  for (const OutKey& key : keys) {
    if (key.key != "general.alignment") continue;
    if (key.type != ValueType::u32 || key.encoded.size() != sizeof(u32)) {
      return input_error("gguf-write-alignment", "general.alignment must be a u32", at_key(key.key));
    }
    u32 value = 0;
    std::memcpy(&value, key.encoded.data(), sizeof value);
    said = value;
  }
  if (said != alignment) {
    return input_error("gguf-write-alignment",
                       fmt::format("the data is aligned to {}, but general.alignment says {}", alignment, said),
                       at_key("general.alignment"));
  }
  return {};
}

// Returns the tensor's size in bytes, or an error if no reader with these limits would load such a tensor.
Result<u64> check_tensor(const OutTensorView& tensor, Limits limits) {
  const std::string where = at_tensor(tensor.name);
  if (tensor.name.empty() || tensor.name.size() > limits.name_bytes) {
    return input_error(
        "gguf-write-name",
        fmt::format("the name is {} bytes long, 1 to {} are allowed", tensor.name.size(), limits.name_bytes), where);
  }
  if (tensor.ne.empty() || tensor.ne.size() > limits.dims) {
    return input_error("gguf-write-shape",
                       fmt::format("n_dims is {}, 1 to {} are allowed", tensor.ne.size(), limits.dims), where);
  }
  if (std::find(tensor.ne.begin(), tensor.ne.end(), 0) != tensor.ne.end()) {
    return input_error("gguf-write-shape", fmt::format("a dimension of shape {} is 0", shape_text(tensor.ne)), where);
  }
  const TypeInfo& type = type_info(tensor.type);
  if (!type.in_gguf) {
    return input_error("gguf-write-type", fmt::format("GGUF has no type {}", type.name), where);
  }
  if (tensor.ne[0] % type.block_elements != 0) {
    return input_error("gguf-write-shape",
                       fmt::format("rows have {} elements, but {} needs a multiple of {}", tensor.ne[0], type.name,
                                   type.block_elements),
                       where);
  }
  const std::optional<u64> bytes = tensor_bytes(tensor.type, tensor.ne);
  if (!bytes) {
    return input_error(
        "gguf-write-size",
        fmt::format("{} of shape {} needs more bytes than a file can have", type.name, shape_text(tensor.ne)), where);
  }
  return *bytes;
}

}  // namespace

OutKey make_key(std::string key, u32 value) {
  return scalar(std::move(key), ValueType::u32, value);
}
OutKey make_key_u16(std::string key, u16 value) {
  return scalar(std::move(key), ValueType::u16, value);
}
OutKey make_key_i32(std::string key, i32 value) {
  return scalar(std::move(key), ValueType::i32, value);
}
OutKey make_key_f32(std::string key, float value) {
  return scalar(std::move(key), ValueType::f32, value);
}
OutKey make_key_bool(std::string key, bool value) {
  return scalar(std::move(key), ValueType::boolean, static_cast<u8>(value ? 1 : 0));
}

OutKey make_key_string(std::string key, std::string_view value) {
  OutKey out{std::move(key), ValueType::string, {}};
  put_text(out.encoded, value);
  return out;
}

OutKey make_key_strings(std::string key, const std::vector<std::string>& values) {
  OutKey out{std::move(key), ValueType::array, {}};
  put<u32>(out.encoded, static_cast<u32>(ValueType::string));
  put<u64>(out.encoded, values.size());
  for (const std::string& value : values) put_text(out.encoded, value);
  return out;
}

OutKey make_key_i32s(std::string key, const std::vector<i32>& values) {
  return numbers(std::move(key), ValueType::i32, values);
}
OutKey make_key_u32s(std::string key, const std::vector<u32>& values) {
  return numbers(std::move(key), ValueType::u32, values);
}
OutKey make_key_f32s(std::string key, const std::vector<float>& values) {
  return numbers(std::move(key), ValueType::f32, values);
}
OutKey make_key_bools(std::string key, const std::vector<bool>& values) {
  return numbers(std::move(key), ValueType::boolean, std::vector<u8>(values.begin(), values.end()));
}
OutKey make_key_u8s(std::string key, std::string_view bytes) {
  return numbers(std::move(key), ValueType::u8, std::vector<u8>(bytes.begin(), bytes.end()));
}

Result<OutKey> copy_key(const ByteSource& source, const Document& document, const KeyValue& key) {
  if (document.big_endian) {
    return input_error("gguf-big-endian", "keys of a big-endian file cannot be copied into a little-endian one",
                       at_key(key.key), key.value_offset, document.name);
  }
  OutKey out{key.key, key.type(), {}};
  if (const ArrayRef* array = std::get_if<ArrayRef>(&key.value)) {
    resize_to_fill(out.encoded, static_cast<std::size_t>(array_head_bytes + array->bytes));
    MU_TRY(source.read_exact(key.value_offset, std::as_writable_bytes(std::span(out.encoded))));
    return out;
  }
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_arithmetic_v<T>) {
          put(out.encoded, value);
        } else if constexpr (std::is_same_v<T, Bool>) {
          put(out.encoded, value.byte);
        } else if constexpr (std::is_same_v<T, std::string>) {
          put_text(out.encoded, value);
        }
      },
      key.value);
  return out;
}

u64 header_bytes(const std::vector<OutKey>& keys, const OutTensors& tensors) {
  u64 size = 4 + 4 + 8 + 8;
  for (const OutKey& key : keys) size += 8 + key.key.size() + 4 + key.encoded.size();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const OutTensorView tensor = tensors[i];
    size += 8 + tensor.name.size() + 4 + 8 * tensor.ne.size() + 4 + 8;
  }
  return size;
}

u64 header_bytes(const std::vector<OutKey>& keys, const std::vector<OutTensor>& tensors) {
  return header_bytes(keys, OutTensors(tensors.size(), [&](std::size_t i) { return view_of(tensors[i]); }));
}

Result<OutLayout> layout(const std::vector<OutKey>& keys, const std::vector<OutTensor>& tensors, u64 alignment,
                         u32 version, Limits limits) {
  return layout(keys, OutTensors(tensors.size(), [&](std::size_t i) { return view_of(tensors[i]); }), alignment,
                version, limits);
}

Result<OutLayout> layout(const std::vector<OutKey>& keys, const OutTensors& tensors, u64 alignment, u32 version,
                         Limits limits) {
  if (version != 2 && version != 3) return internal_error("gguf::layout writes only versions 2 and 3");
  MU_TRY(check_alignment(keys, alignment));
  OutLayout out;
  out.alignment = alignment;
  std::string& header = out.header;
  // Reserve up front: the vocabulary is large, and growing in steps would hold it twice.
  reserve_to_fill(header, static_cast<std::size_t>(header_bytes(keys, tensors) + alignment));
  header = "GGUF";
  put<u32>(header, version);
  put<u64>(header, tensors.size());
  put<u64>(header, keys.size());

  NameIndex names;
  for (const OutKey& key : keys) {
    MU_TRY(check_key(key));
    if (!names.insert(key.key).is_new) {
      return input_error("gguf-write-key", "the key appears twice", at_key(key.key));
    }
    put_text(header, key.key);
    put<u32>(header, static_cast<u32>(key.type));
    header += key.encoded;
  }

  NameIndex tensor_names;
  tensor_names.reserve(tensors.size());
  out.offsets.reserve(tensors.size());
  out.bytes.reserve(tensors.size());
  u64 next = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const OutTensorView tensor = tensors[i];
    MU_ASSIGN(const u64 bytes, check_tensor(tensor, limits));
    if (!tensor_names.insert(tensor.name).is_new) {
      return input_error("gguf-write-name", "the tensor appears twice", at_tensor(tensor.name));
    }
    put_text(header, tensor.name);
    put<u32>(header, static_cast<u32>(tensor.ne.size()));
    for (const u64 dim : tensor.ne) put(header, dim);
    put<u32>(header, static_cast<u32>(tensor.type));
    put<u64>(header, next);
    out.offsets.push_back(next);
    out.bytes.push_back(bytes);
    const std::optional<u64> padded = checked_round_up(bytes, alignment);
    const std::optional<u64> end = padded ? checked_add(next, *padded) : std::nullopt;
    if (!end || *end > static_cast<u64>(std::numeric_limits<i64>::max()) / 2) {
      return input_error("gguf-write-size", "the tensors together are larger than any file can be",
                         at_tensor(tensor.name));
    }
    next = *end;
  }

  header.append(static_cast<std::size_t>(*checked_round_up(header.size(), alignment) - header.size()), '\0');
  for (u64& offset : out.offsets) offset += header.size();
  out.file_size = header.size() + next;
  return out;
}

namespace {

template <typename T>
T taken(std::string_view bytes, std::size_t offset) {
  T value{};
  if (bytes.size() >= offset && bytes.size() - offset >= sizeof value)
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T>
std::string encoded(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename T>
std::optional<u64> if_not_negative(T value) {
  return value < 0 ? std::nullopt : std::optional(static_cast<u64>(value));
}

}  // namespace

u64 KeyElements::element_size() const {
  return value_size(type);
}

std::optional<u64> KeyElements::number(u64 i) const {
  const u64 size = element_size();
  if (size == 0 || i >= bytes.size() / size) return std::nullopt;
  const std::size_t at = static_cast<std::size_t>(i * size);
  switch (type) {
    case ValueType::u8: return taken<u8>(bytes, at);
    case ValueType::boolean: return taken<u8>(bytes, at) != 0;
    case ValueType::u16: return taken<u16>(bytes, at);
    case ValueType::u32: return taken<u32>(bytes, at);
    case ValueType::u64: return taken<u64>(bytes, at);
    case ValueType::i8: return if_not_negative(taken<i8>(bytes, at));
    case ValueType::i16: return if_not_negative(taken<i16>(bytes, at));
    case ValueType::i32: return if_not_negative(taken<i32>(bytes, at));
    case ValueType::i64: return if_not_negative(taken<i64>(bytes, at));
    default: return std::nullopt;
  }
}

std::optional<double> KeyElements::real() const {
  if (count) return std::nullopt;
  if (type == ValueType::f32) return static_cast<double>(taken<float>(bytes, 0));
  return type == ValueType::f64 ? std::optional(taken<double>(bytes, 0)) : std::nullopt;
}

std::optional<std::string_view> KeyElements::text() const {
  if (count || type != ValueType::string || bytes.size() < sizeof(u64)) return std::nullopt;
  return bytes.substr(sizeof(u64));
}

KeyElements elements_of(const OutKey& key) {
  constexpr std::size_t array_header = sizeof(u32) + sizeof(u64);
  if (key.type != ValueType::array || key.encoded.size() < array_header) return {key.type, std::nullopt, key.encoded};
  return {static_cast<ValueType>(taken<u32>(key.encoded, 0)), taken<u64>(key.encoded, sizeof(u32)),
          std::string_view(key.encoded).substr(array_header)};
}

OutKey make_key_of_elements(std::string key, ValueType type, std::string_view bytes) {
  const u64 size = value_size(type);
  OutKey made{std::move(key), ValueType::array, {}};
  made.encoded = encoded(static_cast<u32>(type)) + encoded(size == 0 ? u64{0} : u64{bytes.size()} / size);
  made.encoded += bytes;
  return made;
}

std::string encoded_number(ValueType type, u64 value) {
  switch (type) {
    case ValueType::u8:
    case ValueType::i8: return encoded(static_cast<u8>(value));
    case ValueType::boolean: return encoded(static_cast<u8>(value != 0));
    case ValueType::u16:
    case ValueType::i16: return encoded(static_cast<u16>(value));
    case ValueType::u32:
    case ValueType::i32: return encoded(static_cast<u32>(value));
    case ValueType::u64:
    case ValueType::i64: return encoded(value);
    case ValueType::f32: return encoded(static_cast<float>(value));
    case ValueType::f64: return encoded(static_cast<double>(value));
    default: return {};
  }
}

}  // namespace modelutils::gguf
