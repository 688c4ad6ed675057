#include "transfer/encoders.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "forms/stored_form.h"
#include "mlx/dequantize.h"
#include "tensor/half.h"
#include "tensor/narrow.h"

namespace modelutils {

namespace {

template <TensorType type>
void encode_floats(std::span<const float> values, u64 /*columns*/, const EncodeHints& /*hints*/, MutableBytes out) {
  narrow(type, values, out.data());
}

void encode_q8_0(std::span<const float> values, u64 /*columns*/, const EncodeHints& /*hints*/, MutableBytes out) {
  encode_q8_0_best({}, {}, {}, {}, values, out);
}

constexpr std::array encoders = {
    Encoder{TensorType::F32, encode_floats<TensorType::F32>},
    Encoder{TensorType::F16, encode_floats<TensorType::F16>},
    Encoder{TensorType::BF16, encode_floats<TensorType::BF16>},
    Encoder{TensorType::Q8_0, encode_q8_0},
};

}  // namespace

const Encoder* encoder_of(TensorType type) {
  const auto found = std::ranges::find(encoders, type, &Encoder::type);
  return found == encoders.end() ? nullptr : &*found;
}

namespace {

constexpr u32 block_elements = 32;
constexpr u32 block_bytes = 34;

using Values = std::span<const float, block_elements>;

struct Candidate {
  u16 d = 0;
  std::array<i8, block_elements> codes{};
  double error = HUGE_VAL;

  // Computes the sum of squared errors; infinite if d is not finite.
  void measure(Values exact) {
    const float scale = f16_to_f32(d);
    if (!std::isfinite(scale)) return;
    std::array<double, 4> sums{};  // independent sums, so that the compiler can vectorize
    for (u32 i = 0; i < block_elements; i += 4) {
      for (u32 k = 0; k < 4; ++k) {
        const float carried = scale * static_cast<float>(codes[i + k]);
        const double difference = static_cast<double>(carried) - static_cast<double>(exact[i + k]);
        sums[k] += difference * difference;
      }
    }
    error = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    if (std::isnan(error)) error = HUGE_VAL;
  }
};

// Plain Q8_0: d = largest magnitude / 127, with codes matching d after rounding to f16.
void try_plain(Values exact, Candidate& candidate) {
  // The bits of non-negative floats, as integers, have the same order; and an integer maximum can be vectorized.
  i32 largest_bits = 0;
  for (float value : exact) largest_bits = std::max(largest_bits, std::bit_cast<i32>(value) & 0x7FFFFFFF);
  const float largest = std::bit_cast<float>(largest_bits);
  candidate.d = f32_to_f16(largest / 127.0f);
  if (candidate.d == 0 && largest > 0) candidate.d = 1;
  const float scale = f16_to_f32(candidate.d);
  const float inverse = scale > 0 ? 1.0f / scale : 0.0f;
  for (u32 i = 0; i < block_elements; ++i) {
    const float code = exact[i] * inverse;
    const float not_below = code > -127.0f ? code : -127.0f;  // also replaces NaN, so that the cast is defined
    const float limited = not_below < 127.0f ? not_below : 127.0f;
    candidate.codes[i] = static_cast<i8>(static_cast<int>(limited + 128.5f) - 128);  // rounds half up
  }
  candidate.measure(exact);
}

void try_constant(Values exact, Candidate& candidate) {
  candidate.error = HUGE_VAL;
  const float value = exact[0];
  for (u32 i = 1; i < block_elements; ++i) {
    if (exact[i] != value) return;
  }
  candidate.d = f32_to_f16(value);
  candidate.codes.fill(1);
  candidate.measure(exact);
}

// The integer form: d = scale, code = q + round(bias / scale).
void try_integer(float scale, float bias, std::span<const u8, block_elements> codes, Values exact,
                 Candidate& candidate) {
  candidate.error = HUGE_VAL;
  const float offset = std::round(bias / scale);
  if (!(std::abs(offset) <= 512)) return;  // also NaN
  const int shift = static_cast<int>(offset);
  u8 least = 255;
  u8 greatest = 0;
  for (u8 code : codes) {
    least = std::min(least, code);
    greatest = std::max(greatest, code);
  }
  if (least + shift < -128 || greatest + shift > 127) return;
  candidate.d = f32_to_f16(scale);
  for (u32 i = 0; i < block_elements; ++i) candidate.codes[i] = static_cast<i8>(codes[i] + shift);
  candidate.measure(exact);
}

}  // namespace

void encode_q8_0_best(const MlxForm& form, Bytes codes, Bytes scales, Bytes biases, std::span<const float> exact,
                      MutableBytes out) {
  const bool has_codes =
      !codes.empty() && form.params.mode == mlx::Mode::affine && form.params.group_size % block_elements == 0;
  const u32 scale_size = type_info(form.scale_type).block_bytes;
  const u32 bias_size = type_info(form.bias_type).block_bytes;
  const u32 packed = block_elements * form.params.bits / 8;
  std::array<u8, block_elements> unpacked;
  std::array<Candidate, 2> candidates;
  for (std::size_t b = 0; b * block_elements < exact.size(); ++b) {
    const Values values(exact.data() + b * block_elements, block_elements);
    Candidate* best = &candidates[0];
    Candidate* other = &candidates[1];
    const auto keep_better = [&] {
      if (other->error < best->error) std::swap(best, other);
    };
    best->error = HUGE_VAL;
    if (has_codes) {
      const std::size_t group = b * block_elements / form.params.group_size;
      mlx::unpack_codes(form.params.bits, codes.subspan(b * packed, packed), unpacked);
      try_integer(scale_at(form.scale_type, scales.data() + group * scale_size),
                  scale_at(form.bias_type, biases.data() + group * bias_size), unpacked, values, *best);
    }
    if (best->error > 0) {
      try_constant(values, *other);
      keep_better();
    }
    if (best->error > 0) {
      try_plain(values, *other);
      // If no Q8_0 can hold the values, every error is infinite; choose_target() avoids Q8_0 for such tensors.
      if (std::isinf(best->error)) std::swap(best, other);
      keep_better();
    }
    std::byte* to = out.data() + b * block_bytes;
    std::memcpy(to, &best->d, 2);
    std::memcpy(to + 2, best->codes.data(), block_elements);
  }
}

}  // namespace modelutils
