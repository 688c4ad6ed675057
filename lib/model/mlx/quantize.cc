#include "model/mlx/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/mlx/quantization.h"
#include "tensor/half.h"

namespace modelutils::mlx {

float rounded_to(TensorType type, float value) {
  switch (type) {
    case TensorType::F16: return f16_to_f32(f32_to_f16(value));
    case TensorType::BF16: return bf16_to_f32(f32_to_bf16(value));
    default: return value;
  }
}

ScaleAndBias quantize_affine(u32 bits, std::span<const float> values, TensorType scale_type, std::span<u8> codes) {
  constexpr float least_scale = 1e-7f;
  const float greatest = static_cast<float>((1u << bits) - 1);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const bool low_is_larger = std::abs(*low) > std::abs(*high);
  const float edge = low_is_larger ? *low : *high;
  float scale = std::max((*high - *low) / greatest, least_scale);
  if (!low_is_larger) scale = -scale;
  const float steps = std::rint(edge / scale);
  float bias = 0;
  if (steps != 0) {
    scale = edge / steps;
    bias = edge;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float code = std::rint((values[i] - bias) / scale);
    codes[i] = static_cast<u8>(std::clamp(code, 0.0f, greatest));
  }
  return {rounded_to(scale_type, scale), rounded_to(scale_type, bias)};
}

double plain_lattice_error(std::span<const float> values, TensorType scale_type) {
  constexpr std::size_t lanes = 8;
  double sum = 0;
  run_with(
      best_instructions(), [&](auto) __attribute__((flatten)) {
        for (const float* in = values.data(); in != values.data() + values.size(); in += search_group) {
          float low[lanes];
          float high[lanes];
          for (std::size_t k = 0; k < lanes; ++k) low[k] = high[k] = in[k];
          for (std::size_t i = lanes; i < search_group; i += lanes) {
            for (std::size_t k = 0; k < lanes; ++k) low[k] = in[i + k] < low[k] ? in[i + k] : low[k];
            for (std::size_t k = 0; k < lanes; ++k) high[k] = in[i + k] > high[k] ? in[i + k] : high[k];
          }
          const float lowest = *std::min_element(low, low + lanes);
          const float range = *std::max_element(high, high + lanes) - lowest;
          const float scale = rounded_to(scale_type, range / 255.0f);
          const float bias = rounded_to(scale_type, lowest);
          const float inverse = scale > 0 ? 1.0f / scale : 0.0f;
          float errors[lanes] = {};
          for (std::size_t i = 0; i < search_group; i += lanes) {
            for (std::size_t k = 0; k < lanes; ++k) {
              const float place = (in[i + k] - bias) * inverse;
              const float inside = place > 255.0f ? 255.0f : place > 0.0f ? place : 0.0f;
              const float code = static_cast<float>(static_cast<i32>(inside + 0.5f));
              const float difference = code * scale + bias - in[i + k];
              errors[k] += difference * difference;
            }
          }
          for (const float error : errors) sum += static_cast<double>(error);
        }
      });
  return sum;
}

namespace {

// Returns the index of the nearest of `values` (ascending magnitudes); of two equally near ones, the even index.
template <std::size_t N>
u8 nearest(const std::array<float, N>& values, float magnitude) {
  const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  if (above == values.end()) return static_cast<u8>(N - 1);
  const auto code = static_cast<std::size_t>(above - values.begin());
  if (code == 0) return 0;
  const float up = values[code] - magnitude;
  const float down = magnitude - values[code - 1];
  if (up == down) return static_cast<u8>(code % 2 == 0 ? code : code - 1);
  return static_cast<u8>(up < down ? code : code - 1);
}

constexpr std::array<float, 8> fp4_magnitudes = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
constexpr float greatest_fp8 = 448;

u8 to_fp4(float value) {
  return static_cast<u8>(nearest(fp4_magnitudes, std::abs(value)) | (std::signbit(value) ? 8 : 0));
}

u8 to_fp8(float value) {
  static const std::array<float, 127> magnitudes = [] {
    std::array<float, 127> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = e4m3_to_f32(static_cast<u8>(i));
    return table;
  }();
  return static_cast<u8>(nearest(magnitudes, std::abs(value)) | (std::signbit(value) ? 0x80 : 0));
}

// Rounds to the nearest power of two by rounding the logarithm. A group of zeros gets scale one.
u8 to_e8m0(float scale) {
  if (scale == 0) return 127;
  const int exponent = static_cast<int>(std::lround(std::log2(scale)));
  return static_cast<u8>(std::clamp(exponent, -127, 127) + 127);
}

}  // namespace

u8 quantize_fp(Mode mode, std::span<const float> values, std::span<u8> codes) {
  const bool is_fp4 = mode != Mode::mxfp8;
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const float wanted = largest / (is_fp4 ? fp4_magnitudes.back() : greatest_fp8);
  const u8 byte = mode == Mode::nvfp4 ? to_fp8(wanted) : to_e8m0(wanted);
  const float scale = mode == Mode::nvfp4 ? e4m3_to_f32(byte) : e8m0_to_f32(byte);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float code = scale == 0 ? 0 : values[i] / scale;
    codes[i] = is_fp4 ? to_fp4(code) : to_fp8(code);
  }
  return byte;
}

}  // namespace modelutils::mlx
