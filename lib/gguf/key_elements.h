// A key's value taken apart into its elements, and keys made of other elements: for what has to change arrays with an
// element for each layer.
#pragma once

#include <optional>
#include <string_view>

#include "gguf/write.h"

namespace modelutils::gguf {

/// A value's element type, number of elements (nothing for a single one), and their bytes.
struct KeyElements {
  ValueType type = ValueType::u8;
  std::optional<u64> count;
  std::string_view bytes;  ///< views the key

  /// Bytes of one element; 0 for texts and arrays of none.
  u64 element_size() const;
  /// The number in element `i` (the value itself where there is only one); nothing for texts, reals and negative ones.
  std::optional<u64> number(u64 i) const;
};

KeyElements elements_of(const OutKey& key);

/// An array of the elements whose encoded bytes are given.
OutKey make_key_of_elements(std::string key, ValueType type, std::string_view bytes);

/// A number in the encoding of an element type: whole numbers of 8 to 64 bits, reals, flags.
std::string encoded_number(ValueType type, u64 value);

}  // namespace modelutils::gguf
