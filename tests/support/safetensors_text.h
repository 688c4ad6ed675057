// Makes a safetensors file from a verbatim header, valid or not, and data.
#pragma once

#include <string>
#include <string_view>

namespace modelutils::test {

/// Returns the header's length in eight bytes, `header`, and `data`.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>((header.size() >> shift) & 0xFF));
  return bytes.append(header).append(data);
}

}  // namespace modelutils::test
