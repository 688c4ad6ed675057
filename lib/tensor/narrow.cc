// Processes several values at once, one per vector lane. Lanes are independent, so results do not depend on the vector
// width.
#include "tensor/narrow.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_reader.h"
#include "tensor/half.h"

namespace modelutils {

namespace {

template <std::size_t WIDTH>
struct Lanes {
  static constexpr std::size_t count = WIDTH / sizeof(float);
  using Floats [[gnu::vector_size(WIDTH)]] = float;
  using Bits [[gnu::vector_size(WIDTH)]] = i32;
  using Halves [[gnu::vector_size(WIDTH / 2)]] = u16;
};

template <typename Vector, typename Number>
[[gnu::always_inline]] inline Vector loaded(const Number* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

// Calls body(vector, first) for each group of as many values as the vector has lanes; the last group is padded with
// zeros.
template <typename Vector, typename Number, typename Body>
[[gnu::always_inline]] inline void for_vectors(const Number* values, std::size_t count, const Body& body) {
  constexpr std::size_t lanes = sizeof(Vector) / sizeof(Number);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) body(loaded<Vector>(values + i), i);
  if (i == count) return;
  std::array<Number, lanes> last{};
  std::copy(values + i, values + count, last.begin());
  body(loaded<Vector>(last.data()), i);
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void narrow_all(TensorType type, const float* values, std::size_t count, std::byte* out) {
  using L = Lanes<WIDTH>;
  const auto store = [&](typename L::Bits bits, std::size_t first) __attribute__((always_inline)) {
    const auto halves = __builtin_convertvector(bits, typename L::Halves);
    if (first + L::count <= count) {
      std::memcpy(out + 2 * first, &halves, sizeof halves);
    } else {
      std::memcpy(out + 2 * first, &halves, 2 * (count - first));
    }
  };
  using Floats = typename L::Floats;
  if (type == TensorType::F16) {
    for_vectors<Floats>(
        values, count, [&](Floats some, std::size_t first) __attribute__((always_inline)) {
          store(f16_bits<Floats, typename L::Bits>(some), first);
        });
  } else {
    for_vectors<Floats>(
        values, count, [&](Floats some, std::size_t first) __attribute__((always_inline)) {
          store(bf16_bits<Floats, typename L::Bits>(some), first);
        });
  }
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void round_all(TensorType type, float* values, std::size_t count) {
  using Floats = typename Lanes<WIDTH>::Floats;
  using Bits = typename Lanes<WIDTH>::Bits;
  for_vectors<Floats>(
      values, count, [&](Floats some, std::size_t first) __attribute__((always_inline)) {
        const Floats rounded = type == TensorType::F16 ? f16_value<Floats, Bits>(f16_bits<Floats, Bits>(some))
                                                       : bits_as<Floats>(bf16_bits<Floats, Bits>(some) << 16);
        if (first + Lanes<WIDTH>::count <= count) {
          std::memcpy(values + first, &rounded, sizeof rounded);
        } else {
          std::memcpy(values + first, &rounded, 4 * (count - first));
        }
      });
}

// The values that narrow_facts() reports, per lane.
template <typename Bits>
struct Extremes {
  Bits largest = {};         // bits of the largest magnitude, including infinity and NaN
  Bits largest_finite = {};  // bits of the largest finite magnitude; bits of floats are ordered like their magnitudes
  Bits below_bf16 = {};
  Bits below_f16 = {};
};

template <typename Floats, typename Bits>
[[gnu::always_inline]] inline void look_at_lanes(Floats values, Extremes<Bits>& extremes) {
  const Bits bits = bits_as<Bits>(values);
  const Bits magnitude = bits & 0x7FFFFFFF;
  const Bits zero = {};
  const Bits is_number = magnitude <= zero + 0x7F800000;
  extremes.largest = magnitude > extremes.largest ? magnitude : extremes.largest;
  const Bits finite = magnitude & (magnitude < zero + 0x7F800000);
  extremes.largest_finite = finite > extremes.largest_finite ? finite : extremes.largest_finite;
  extremes.below_bf16 |= bits & 0xFFFF & is_number;
  // F16 subnormals (below 2^-14) count units of 2^-24. Adding 0.5 rounds to that unit.
  const Floats size = bits_as<Floats>(magnitude);
  const Bits of_units = bits_as<Bits>((size + 0.5f) - 0.5f) ^ magnitude;
  extremes.below_f16 |= (magnitude < zero + 0x38800000 ? of_units : bits & 0x1FFF) & is_number;
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline Extremes<i32> extremes_of(const float* values, std::size_t count) {
  using L = Lanes<WIDTH>;
  Extremes<typename L::Bits> lanes;
  for_vectors<typename L::Floats>(
      values,
      count, [&](typename L::Floats some, std::size_t) __attribute__((always_inline)) { look_at_lanes(some, lanes); });
  Extremes<i32> all;
  for (std::size_t i = 0; i < L::count; ++i) {
    all.largest = std::max(all.largest, static_cast<i32>(lanes.largest[i]));
    all.largest_finite = std::max(all.largest_finite, static_cast<i32>(lanes.largest_finite[i]));
    all.below_bf16 |= lanes.below_bf16[i];
    all.below_f16 |= lanes.below_f16[i];
  }
  return all;
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void widen_all(const u16* halves, std::size_t count, float* out) {
  using L = Lanes<WIDTH>;
  for_vectors<typename L::Halves>(
      halves, count, [&](typename L::Halves some, std::size_t first) __attribute__((always_inline)) {
        const auto bits = __builtin_convertvector(some, typename L::Bits);
        const auto values = f16_value<typename L::Floats, typename L::Bits>(bits);
        if (first + L::count <= count) {
          std::memcpy(out + first, &values, sizeof values);
        } else {
          std::memcpy(out + first, &values, 4 * (count - first));
        }
      });
}

}  // namespace

void narrow(TensorType type, std::span<const float> values, std::byte* out, WideInstructions instructions) {
  if (type == TensorType::F32) {
    std::memcpy(out, values.data(), values.size() * 4);
    return;
  }
  run_with(
      instructions, [&](auto width) __attribute__((always_inline)) {
        narrow_all<decltype(width)::value>(type, values.data(), values.size(), out);
      });
}

void round_to(TensorType type, std::span<float> values, Instructions instructions) {
  if (type == TensorType::F32) return;
  run_with(
      instructions, [&](auto width) __attribute__((always_inline)) {
        round_all<decltype(width)::value>(type, values.data(), values.size());
      });
}

// Copies the values together first, because contiguous loads are fast.
void widen_f16(const std::byte* first, std::size_t stride, std::span<float> out, Instructions instructions) {
  std::array<u16, 256> halves;
  for (std::size_t done = 0; done < out.size(); done += halves.size()) {
    const std::size_t count = std::min(halves.size(), out.size() - done);
    float* const to = out.data() + done;
    u32 carries = 0;  // bit 15 is set if some value is infinite or NaN (all exponent bits set)
    for (std::size_t i = 0; i < count; ++i, first += stride) {
      halves[i] = load<u16>(first);
      carries |= (halves[i] & 0x7C00u) + 0x0400u;
    }
    if ((carries & 0x8000) != 0) {
      for (std::size_t i = 0; i < count; ++i) to[i] = f16_to_f32(halves[i]);
      continue;
    }
    run_with(
        instructions, [&](auto width) __attribute__((always_inline)) {
          widen_all<decltype(width)::value>(halves.data(), count, to);
        });
  }
}

NarrowFacts narrow_facts(std::span<const float> values, Instructions instructions) {
  Extremes<i32> all;
  run_with(
      instructions, [&](auto width) __attribute__((always_inline)) {
        all = extremes_of<decltype(width)::value>(values.data(), values.size());
      });
  NarrowFacts facts;
  facts.finite = all.largest < 0x7F800000;
  facts.f16_overflows = all.largest_finite >= 0x477FF000;  // 65520 rounds to 65536
  facts.fits_bf16 = all.below_bf16 == 0;
  facts.fits_f16 = all.below_f16 == 0 && all.largest_finite <= 0x477FE000;  // 65504
  return facts;
}

}  // namespace modelutils
