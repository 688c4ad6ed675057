#include "gguf/key_elements.h"

#include <cstring>

#include "gguf/document.h"

namespace modelutils::gguf {

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
