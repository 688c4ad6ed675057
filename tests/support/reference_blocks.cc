#include "support/reference_blocks.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "support/llama_model.h"

namespace modelutils::test {

namespace {

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T get(std::string_view data, std::size_t offset) {
  T value;
  std::memcpy(&value, data.data() + offset, sizeof value);
  return value;
}

unsigned byte_at(std::string_view data, std::size_t offset) {
  return static_cast<u8>(data[offset]);
}

float half(u16 bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31) return static_cast<float>(mantissa == 0 ? sign * HUGE_VAL : NAN);
  return static_cast<float>(
      sign * std::ldexp(exponent == 0 ? mantissa : 1024 + mantissa, exponent == 0 ? -24 : exponent - 25));
}

// Returns the code of element `i` in a block of 32. The nibbles are at `nibbles`, the fifth bits at `fifth` (0: none).
unsigned code(std::string_view block, std::size_t i, std::size_t nibbles, std::size_t fifth) {
  const unsigned byte = byte_at(block, nibbles + i % 16);
  const unsigned low = i < 16 ? byte & 15 : byte >> 4;
  return low + (fifth != 0 && (get<u32>(block, fifth) >> i & 1) != 0 ? 16 : 0);
}

// Q5_K: d, dmin, 12 bytes of 6-bit scales and minima, 32 bytes of fifth bits, 128 bytes of nibbles.
void q5_k(std::string_view block, std::string& out) {
  const float d = half(get<u16>(block, 0));
  const float dmin = half(get<u16>(block, 2));
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t group = i / 32;
    unsigned scale, minimum;
    if (group < 4) {
      scale = byte_at(block, 4 + group) & 63;
      minimum = byte_at(block, 8 + group) & 63;
    } else {
      scale = (byte_at(block, 8 + group) & 15) | (byte_at(block, group) >> 6) << 4;
      minimum = byte_at(block, 8 + group) >> 4 | (byte_at(block, 4 + group) >> 6) << 4;
    }
    const unsigned byte = byte_at(block, 48 + i / 64 * 32 + i % 32);
    const unsigned low = i % 64 < 32 ? byte & 15 : byte >> 4;
    const unsigned value = low + ((byte_at(block, 16 + i % 32) >> group & 1) != 0 ? 16 : 0);
    put(out, d * static_cast<float>(scale) * static_cast<float>(value) - dmin * static_cast<float>(minimum));
  }
}

}  // namespace

std::string reference_blocks(u32 from, u32 to, std::string_view data) {
  if (from == to) return std::string(data);
  std::string out;
  const u64 elements = from == ggml_q5_k ? 256 : from == ggml_f16 || from == ggml_bf16 ? 1 : 32;
  const u64 size = ggml_bytes(from, elements);
  for (std::size_t at = 0; at < data.size(); at += size) {
    const std::string_view block = data.substr(at, size);
    if (from == ggml_f16 && to == ggml_f32) {
      put(out, half(get<u16>(block, 0)));
    } else if (from == ggml_bf16 && to == ggml_f32) {
      put(out, u32{get<u16>(block, 0)} << 16);
    } else if ((from == ggml_q4_0 || from == ggml_q5_0) && to == ggml_q8_0) {
      out += block.substr(0, 2);
      for (std::size_t i = 0; i < 32; ++i) {
        const int value = from == ggml_q4_0 ? static_cast<int>(code(block, i, 2, 0)) - 8
                                            : static_cast<int>(code(block, i, 6, 2)) - 16;
        out += static_cast<char>(value);
      }
    } else if (from == ggml_q4_1 && to == ggml_q5_1) {
      out += block.substr(0, 4);
      out += std::string(4, '\0');
      out += block.substr(4);
    } else if ((from == ggml_q4_1 || from == ggml_q5_1) && to == ggml_f32) {
      const float d = half(get<u16>(block, 0));
      const float m = half(get<u16>(block, 2));
      for (std::size_t i = 0; i < 32; ++i) {
        const unsigned value = from == ggml_q4_1 ? code(block, i, 4, 0) : code(block, i, 8, 4);
        put(out, static_cast<float>(value) * d + m);
      }
    } else if (from == ggml_q5_k && to == ggml_f32) {
      q5_k(block, out);
    } else {
      std::abort();
    }
  }
  return out;
}

}  // namespace modelutils::test
