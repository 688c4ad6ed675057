// Numbers and texts as little-endian bytes, for the formats that we write.
#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// Appends the bytes of `value`, a number.
template <typename T>
void put(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

/// Appends a length (u64) and the text, as GGUF has strings.
inline void put_text(std::string& out, std::string_view text) {
  put<u64>(out, text.size());
  out.append(text);
}

}  // namespace modelutils
