#include "edit/value.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/byte_writer.h"
#include "gguf/value_names.h"
#include "json/reader.h"

namespace modelutils::edit {

namespace {

using gguf::ValueType;

template <typename T>
std::string range_of() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return fmt::format("{:.3g} to {:.3g}", Limits::lowest(), Limits::max());
  } else {
    return fmt::format("{} to {}", +Limits::min(), +Limits::max());
  }
}

// Returns a description of the texts accepted for the type.
template <typename T>
std::string accepted() {
  return std::is_floating_point_v<T> ? "a number such as 0.5, 1e-5, nan or inf" : range_of<T>();
}

tl::unexpected<Error> not_a(ValueType type, std::string_view text, std::string_view wanted) {
  constexpr std::size_t shown = 40;
  const std::string value(text.substr(0, shown));
  return usage_error(fmt::format("{} takes {}, not '{}{}'", gguf::short_type_name(type), wanted, value,
                                 text.size() > shown ? "…" : ""));
}

template <typename T>
Status put_number(std::string& out, ValueType type, std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_whole = end == digits.data() + digits.size() && !digits.starts_with('+');
  if (is_whole && error == std::errc::result_out_of_range) {
    return usage_error(fmt::format("'{}' is outside {} ({})", text, gguf::short_type_name(type), range_of<T>()));
  }
  if (!is_whole || error != std::errc()) return not_a(type, text, accepted<T>());
  put(out, value);
  return {};
}

Status put_scalar(std::string& out, ValueType type, std::string_view text) {
  switch (type) {
    case ValueType::u8: return put_number<u8>(out, type, text);
    case ValueType::i8: return put_number<i8>(out, type, text);
    case ValueType::u16: return put_number<u16>(out, type, text);
    case ValueType::i16: return put_number<i16>(out, type, text);
    case ValueType::u32: return put_number<u32>(out, type, text);
    case ValueType::i32: return put_number<i32>(out, type, text);
    case ValueType::f32: return put_number<float>(out, type, text);
    case ValueType::u64: return put_number<u64>(out, type, text);
    case ValueType::i64: return put_number<i64>(out, type, text);
    case ValueType::f64: return put_number<double>(out, type, text);
    case ValueType::boolean:
      if (text != "true" && text != "false") return not_a(type, text, "true or false");
      put<u8>(out, text == "true" ? 1 : 0);
      return {};
    case ValueType::string: put_text(out, text); return {};
    case ValueType::array: break;
  }
  return internal_error("an array inside an array");
}

// Encodes an element of a JSON array. Numbers pass as text, so that each type applies its own limits. "NaN" and
// "Infinity" are strings, as in gguf-dump's JSON.
Status put_element(std::string& out, ValueType type, json::Element element) {
  std::string_view text;
  const bool is_text = element.get(text);
  const bool is_float = type == ValueType::f32 || type == ValueType::f64;
  if (type == ValueType::string && !is_text) return not_a(type, element.text(), "a string in quotes");
  if (is_text && type != ValueType::string && !is_float) {
    return not_a(type, element.text(), type == ValueType::boolean ? "true or false" : "a number without quotes");
  }
  if (is_text) return put_scalar(out, type, text);
  return put_scalar(out, type, element.text());
}

void put_array_head(std::string& out, ValueType elements, u64 count) {
  put<u32>(out, static_cast<u32>(elements));
  put<u64>(out, count);
}

}  // namespace

std::string EditType::text() const {
  if (type != ValueType::array) return std::string(gguf::short_type_name(type));
  return fmt::format("{}[]", gguf::short_type_name(elements));
}

std::optional<EditType> edit_type_from_name(std::string_view name) {
  const bool is_array = name.ends_with("[]");
  if (is_array) name.remove_suffix(2);
  const std::optional<ValueType> type = gguf::type_from_short_name(name);
  if (!type || *type == ValueType::array) return std::nullopt;
  if (is_array) return EditType{ValueType::array, *type};
  return EditType{*type, {}};
}

std::optional<EditType> edit_type_of(const gguf::OutKey& key) {
  if (key.type != ValueType::array) return EditType{key.type, {}};
  u32 id = 0;
  std::memcpy(&id, key.encoded.data(), sizeof id);
  const std::optional<ValueType> elements = gguf::value_type_from_id(id);
  if (!elements || *elements == ValueType::array) return std::nullopt;
  return EditType{ValueType::array, *elements};
}

Result<std::string> encode_value(const EditType& type, std::string_view text) {
  std::string out;
  if (type.type != ValueType::array) {
    MU_TRY(put_scalar(out, type.type, text));
    return out;
  }
  const auto document = json::parse(text, "the value");
  json::Array array;
  if (!document || !(*document)->root.get(array)) {
    return usage_error(fmt::format("{} takes a JSON array such as [1, 2]{}", type.text(),
                                   document ? "" : ": " + document.error().message));
  }
  u64 count = 0;
  std::string elements;
  for (const json::Element element : array) {
    MU_TRY(put_element(elements, type.elements, element));
    ++count;
  }
  put_array_head(out, type.elements, count);
  return out + elements;
}

Result<std::string> encode_file_text(const EditType& type, std::string_view text) {
  const bool is_empty = text.empty();
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::string out;
  if (type.type != ValueType::array) {
    MU_TRY(put_scalar(out, type.type, text));
    return out;
  }
  u64 count = 0;
  std::string elements;
  for (bool more = !is_empty; more; ++count) {
    const std::size_t end = text.find('\n');
    MU_TRY(put_scalar(elements, type.elements, text.substr(0, end)));
    more = end != std::string_view::npos;
    if (more) text.remove_prefix(end + 1);
  }
  put_array_head(out, type.elements, count);
  return out + elements;
}

}  // namespace modelutils::edit
