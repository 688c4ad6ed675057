#include "mlx/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "mlx/dequantize.h"
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

namespace {

// The code of `values`, ascending magnitudes, that is nearest; of two equally near ones the even code.
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

// The nearest power of two, as its logarithm says; groups of zeros have the scale one.
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

namespace {

constexpr float greatest_code = 255;
constexpr u32 most_parts = 89;

// What a group of 32 has to be approximated by: its distinct values and how often each occurs.
struct Distinct {
  std::array<float, 32> values{};
  std::array<float, 32> counts{};
  std::size_t size = 0;

  explicit Distinct(std::span<const float, 32> all) {
    std::array<float, 32> sorted{};
    std::copy(all.begin(), all.end(), sorted.begin());
    std::sort(sorted.begin(), sorted.end());
    for (const float value : sorted) {
      if (size == 0 || values[size - 1] != value) values[size++] = value;
      counts[size - 1] += 1;
    }
  }
};

float nearest_code(float value, const ScaleAndBias& lattice) {
  return std::clamp(std::rint((value - lattice.bias) / lattice.scale), 0.0f, greatest_code);
}

float squared_error(const Distinct& distinct, const ScaleAndBias& lattice) {
  float sum = 0;
  const float inverse = 1.0f / lattice.scale;
  for (std::size_t i = 0; i < distinct.size; ++i) {
    // Whole numbers below 2^23 are rounded by adding and taking away 1.5 × 2^23, which vectorises.
    constexpr float magic = 12582912.0f;
    const float place = std::min(std::max((distinct.values[i] - lattice.bias) * inverse, 0.0f), greatest_code);
    const float code = (place + magic) - magic;
    const float difference = code * lattice.scale + lattice.bias - distinct.values[i];
    sum += distinct.counts[i] * (difference * difference);
  }
  return sum;
}

// The smallest distance of two distinct values of a half; 0 if all are equal.
float smallest_distance(std::span<const float> half, float& lowest) {
  std::array<float, 16> sorted{};
  std::copy(half.begin(), half.end(), sorted.begin());
  std::sort(sorted.begin(), sorted.end());
  lowest = sorted.front();
  float smallest = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const float distance = sorted[i] - sorted[i - 1];
    if (distance > 0 && (smallest == 0 || distance < smallest)) smallest = distance;
  }
  return smallest;
}

}  // namespace

ScaleAndBias search_two_scales(std::span<const float, 32> values, TensorType scale_type, std::span<u8, 32> codes) {
  const Distinct distinct(values);
  const float low = distinct.values.front();
  const float high = distinct.values[distinct.size - 1];
  const auto stored = [&](float scale, float bias) {
    return ScaleAndBias{rounded_to(scale_type, scale), rounded_to(scale_type, bias)};
  };
  ScaleAndBias best = stored((high - low) / greatest_code, low);
  if (!(best.scale > 0)) {  // all equal, or so close that the type has no step for them
    std::fill(codes.begin(), codes.end(), u8{0});
    return {0, best.bias};
  }
  float least = squared_error(distinct, best);
  for (std::size_t half = 0; half < 2; ++half) {
    float lowest = 0;
    const float distance = smallest_distance(values.subspan(16 * half, 16), lowest);
    for (u32 parts = 1; distance > 0 && least > 0 && parts <= most_parts; ++parts) {
      const float step = distance / static_cast<float>(parts);
      const float below = std::ceil((lowest - low) / step);  // steps from the group's lowest value to this lattice
      if ((high - lowest) / step + below > greatest_code + 0.5f) break;
      const ScaleAndBias lattice = stored(step, lowest - below * step);
      if (!(lattice.scale > 0)) break;
      const float error = squared_error(distinct, lattice);
      if (error < least) {
        least = error;
        best = lattice;
      }
    }
  }
  for (std::size_t i = 0; i < 32; ++i) codes[i] = static_cast<u8>(nearest_code(values[i], best));
  return best;
}

}  // namespace modelutils::mlx
