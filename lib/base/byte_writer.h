// Encodes numbers and strings as little-endian bytes, for the formats that we write.
#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// Appends the bytes of the number `value`.
template <typename T>
void put(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

/// Appends the length (u64) and then the text: the encoding of a GGUF string.
inline void put_text(std::string& out, std::string_view text) {
  put<u64>(out, text.size());
  out.append(text);
}

}  // namespace modelutils
