#include "convert/q8_0_best.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/byte_reader.h"
#include "mlx/dequantize.h"
#include "tensor/half.h"

namespace modelutils::convert {

namespace {

constexpr u32 block = 32;
constexpr u32 block_bytes = 34;

struct Candidate {
  u16 d = 0;
  std::array<i8, block> codes{};
  double error = HUGE_VAL;

  // Sum of squared differences to the exact values; infinite if d is not finite.
  void measure(std::span<const float> exact) {
    const float scale = f16_to_f32(d);
    if (!std::isfinite(scale)) return;
    error = 0;
    for (u32 i = 0; i < block; ++i) {
      const double difference =
          static_cast<double>(scale * static_cast<float>(codes[i])) - static_cast<double>(exact[i]);
      error += difference * difference;
    }
  }
};

Candidate plain(std::span<const float> exact) {
  float largest = 0;
  for (float value : exact) largest = std::max(largest, std::abs(value));
  Candidate result;
  const float d = largest / 127.0f;
  const float inverse = d > 0 ? 1.0f / d : 0.0f;
  result.d = f32_to_f16(d);
  for (u32 i = 0; i < block; ++i) {
    const float code = std::round(exact[i] * inverse);
    result.codes[i] = static_cast<i8>(std::isfinite(code) ? std::clamp(code, -127.0f, 127.0f) : 0.0f);
  }
  result.measure(exact);
  return result;
}

Candidate constant(std::span<const float> exact) {
  Candidate result;
  if (!std::all_of(exact.begin(), exact.end(), [&](float value) { return value == exact.front(); })) return result;
  result.d = f32_to_f16(exact.front());
  result.codes.fill(1);
  result.measure(exact);
  return result;
}

Candidate integer(float scale, float bias, std::span<const u8> codes, std::span<const float> exact) {
  Candidate result;
  const float offset = std::round(bias / scale);
  if (!(std::abs(offset) <= 512)) return result;  // NaN, too
  const int shift = static_cast<int>(offset);
  const auto [least, greatest] = std::minmax_element(codes.begin(), codes.end());
  if (*least + shift < -128 || *greatest + shift > 127) return result;
  result.d = f32_to_f16(scale);
  for (u32 i = 0; i < block; ++i) result.codes[i] = static_cast<i8>(codes[i] + shift);
  result.measure(exact);
  return result;
}

float as_f32(TensorType type, const std::byte* at) {
  switch (type) {
    case TensorType::F16: return f16_to_f32(load<u16>(at));
    case TensorType::BF16: return bf16_to_f32(load<u16>(at));
    default: return load<float>(at);
  }
}

}  // namespace

void encode_q8_0_best(const MlxForm& form, Bytes codes, Bytes scales, Bytes biases, std::span<const float> exact,
                      MutableBytes out) {
  const bool has_codes = !codes.empty() && form.params.mode == mlx::Mode::affine && form.params.group_size % block == 0;
  const u32 scale_size = type_info(form.scale_type).block_bytes;
  const u32 bias_size = type_info(form.bias_type).block_bytes;
  const u32 packed = block * form.params.bits / 8;
  std::array<u8, block> unpacked{};
  for (std::size_t b = 0; b * block < exact.size(); ++b) {
    const std::span<const float> values = exact.subspan(b * block, block);
    Candidate best = plain(values);
    if (Candidate other = constant(values); other.error < best.error) best = other;
    if (has_codes) {
      const std::size_t group = b * block / form.params.group_size;
      mlx::unpack_codes(form.params.bits, codes.subspan(b * packed, packed), unpacked);
      const Candidate other = integer(as_f32(form.scale_type, scales.data() + group * scale_size),
                                      as_f32(form.bias_type, biases.data() + group * bias_size), unpacked, values);
      if (other.error <= best.error) best = other;
    }
    std::byte* to = out.data() + b * block_bytes;
    std::memcpy(to, &best.d, 2);
    std::memcpy(to + 2, best.codes.data(), block);
  }
}

}  // namespace modelutils::convert
