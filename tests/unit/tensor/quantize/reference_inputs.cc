#include "unit/tensor/quantize/reference_inputs.h"

#include <bit>
#include <cmath>
#include <cstdlib>

namespace modelutils::test {

namespace {

// Returns number i in a sequence of 64-bit words (splitmix64).
u64 word(u64 seed, u64 i) {
  u64 z = (i + 1 + (seed << 32)) * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

float power_of_two(i64 exponent) {
  return std::bit_cast<float>(static_cast<u32>(exponent + 127) << 23);
}

// Sums four 16-bit fields and centres them: a bell curve of width about 1.
float bell(u64 w) {
  i64 sum = -131070;
  for (u32 i = 0; i < 4; ++i) sum += static_cast<i64>(w >> (16 * i) & 0xFFFF);
  return static_cast<float>(sum) * 0x1p-16f;
}

}  // namespace

std::vector<float> reference_values(std::string_view kind, u64 seed, u64 rows, u64 cols) {
  std::vector<float> x(rows * cols);
  const auto exponent = [](u64 w, u64 range, i64 lowest) { return power_of_two(static_cast<i64>(w % range) + lowest); };
  for (u64 i = 0; i < x.size(); ++i) {
    const u64 row = i / cols;
    const u64 w = word(seed, i);
    const u64 v = word(seed + 500009, i);
    const float b = bell(w);
    if (kind == "bell") {
      x[i] = b * 0x1p-6f;
    } else if (kind == "heavy") {
      x[i] = b * b * b * exponent(word(seed + 7, row), 12, -10);
    } else if (kind == "wide") {
      x[i] = b * exponent(v, 24, -20);
    } else if (kind == "sparse") {
      x[i] = v % 10 == 0 ? b : v % 10 == 1 ? -0.0f : 0.0f;
      if (v % 997 == 3) x[i] *= 64;
    } else if (kind == "ties") {
      x[i] = static_cast<float>(static_cast<i64>(w % 17) - 8) * 0x1p-6f;
    } else if (kind == "zero") {
      x[i] = i / 32 % 3 == seed % 3 ? 0.0f : b * 0x1p-5f;
      if (row % 4 == 0) x[i] = 0;
      if (row % 4 == 1) x[i] *= -0.0f;
    } else if (kind == "const") {
      const float c = bell(word(seed + 3, i / 16));
      const float first = bell(word(seed + 3, row / 16));
      const float values[5] = {first, -std::fabs(c), std::fabs(c), i % cols % 2 == 1 ? -c : c, c};
      x[i] = values[row % 5];
    } else if (kind == "shifted") {
      x[i] = b * 0x1p-5f + bell(word(seed + 11, i / 32));
    } else if (kind == "big") {
      x[i] = b * 0x1p13f;
    } else if (kind == "small") {
      x[i] = b * exponent(word(seed + 5, i / 32), 28, -44);
    } else if (kind == "tiny") {
      x[i] = std::bit_cast<float>(static_cast<u32>(w % (1u << 23)) | static_cast<u32>(v % 24) << 23 |
                                  static_cast<u32>(v >> 63) << 31);
    } else {
      std::abort();
    }
  }
  return x;
}

std::vector<float> reference_weights(std::string_view kind, u64 seed, u64 count, u64 ncall) {
  std::vector<float> weights(count);
  for (u64 i = 0; i < count; ++i) {
    const u64 w = word(seed + 900001, i);
    const float u = (static_cast<float>(w >> 40) + 1.0f) * 0x1p-24f;
    float sum = u + 0.25f;
    if (kind == "peaked") sum = u * u * power_of_two(static_cast<i64>(w % 20) - 8);
    if (kind == "holes") sum = w % 8 == 0 ? 0.0f : u;
    weights[i] = sum / static_cast<float>(ncall);
  }
  return weights;
}

}  // namespace modelutils::test
