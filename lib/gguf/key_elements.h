// Splits a key's value into elements, and builds keys from encoded elements. Used to change arrays with one element per
// layer.
#pragma once

#include <optional>
#include <string_view>

#include "gguf/write.h"

namespace modelutils::gguf {

/// A value's element type, element count (nullopt for a scalar), and encoded bytes.
struct KeyElements {
  ValueType type = ValueType::u8;
  std::optional<u64> count;
  std::string_view bytes;  ///< points into the key

  /// Returns the number of bytes per element; 0 for strings and for empty arrays.
  u64 element_size() const;
  /// Returns element `i` as a number (a scalar's own value for any `i`); nullopt for strings, floats and negative
  /// numbers.
  std::optional<u64> number(u64 i) const;
  /// Returns a scalar float; nullopt for all other values.
  std::optional<double> real() const;
  /// Returns a scalar string; nullopt for all other values.
  std::optional<std::string_view> text() const;
};

/// Splits a key's value. The result has views into the key.
KeyElements elements_of(const OutKey& key);

/// Makes an array from encoded elements.
OutKey make_key_of_elements(std::string key, ValueType type, std::string_view bytes);

/// Encodes a number as the given element type: an integer of 8 to 64 bits, a float or a bool.
std::string encoded_number(ValueType type, u64 value);

}  // namespace modelutils::gguf
