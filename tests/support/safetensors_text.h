// The simplest way to a safetensors file in a test: the header as it shall stand there, right or wrong, and the data.
#pragma once

#include <string>
#include <string_view>

namespace modelutils::test {

/// Eight bytes of length, `header`, `data`.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>((header.size() >> shift) & 0xFF));
  return bytes.append(header).append(data);
}

}  // namespace modelutils::test
