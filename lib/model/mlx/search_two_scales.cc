// Processes several groups at once, one per vector lane. Lanes are independent, so the result does not depend on the
// vector width.
#include <algorithm>
#include <array>
#include <cstring>

#include "model/mlx/quantize.h"
#include "tensor/half.h"

namespace modelutils::mlx {

namespace {

constexpr std::size_t group = search_group;
constexpr std::size_t half = group / 2;
constexpr float greatest_code = 255;
constexpr u32 most_parts = 89;

template <std::size_t WIDTH>
struct Vectors {
  using Floats [[gnu::vector_size(WIDTH)]] = float;
  using Masks [[gnu::vector_size(WIDTH)]] = i32;  // -1 where a condition holds
  static constexpr std::size_t lanes = WIDTH / sizeof(float);
};

struct Comparator {
  u8 low, high;
};

// The comparators of Batcher's merge exchange sort. With `is_final` they merge two sorted halves; without it they sort
// each half.
constexpr std::size_t merge_exchanges(bool is_final, Comparator* out) {
  std::size_t count = 0;
  for (std::size_t sorted = is_final ? half : 1; sorted < (is_final ? group : half); sorted *= 2) {
    for (std::size_t distance = sorted; distance >= 1; distance /= 2) {
      for (std::size_t j = distance % sorted; j + distance < group; j += 2 * distance) {
        for (std::size_t i = j; i < j + distance && i + distance < group; ++i) {
          if (i / (2 * sorted) != (i + distance) / (2 * sorted)) continue;
          if (out != nullptr) out[count] = {static_cast<u8>(i), static_cast<u8>(i + distance)};
          ++count;
        }
      }
    }
  }
  return count;
}

template <bool IS_FINAL>
constexpr auto network = [] {
  std::array<Comparator, merge_exchanges(IS_FINAL, nullptr)> comparators{};
  merge_exchanges(IS_FINAL, comparators.data());
  return comparators;
}();

// Returns `a` where it is smaller (larger), else `b`, also if one is NaN. One instruction on x86, which g++ 12 does not
// generate by itself.
template <typename Floats>
[[gnu::always_inline]] inline Floats smaller(Floats a, Floats b) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (sizeof(Floats) == 16) return __builtin_ia32_minps(a, b);
  if constexpr (sizeof(Floats) == 32) return __builtin_ia32_minps256(a, b);
#endif
  return a < b ? a : b;
}
template <typename Floats>
[[gnu::always_inline]] inline Floats larger(Floats a, Floats b) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (sizeof(Floats) == 16) return __builtin_ia32_maxps(a, b);
  if constexpr (sizeof(Floats) == 32) return __builtin_ia32_maxps256(a, b);
#endif
  return a > b ? a : b;
}

// Rounds to an integer by adding and subtracting 1.5 × 2^23; valid for magnitudes below 2^22.
template <typename Floats>
[[gnu::always_inline]] inline Floats nearest_whole(Floats value) {
  constexpr float magic = 12582912.0f;
  return (value + magic) - magic;
}

// Magnitudes above 2^22 may give another number above 2^22.
template <typename Floats>
[[gnu::always_inline]] inline Floats next_whole(Floats value) {
  const Floats nearest = nearest_whole(value);
  return nearest < value ? nearest + 1.0f : nearest;
}

// Returns the code nearest to a position on the lattice; positions outside it are clamped.
template <typename Floats>
[[gnu::always_inline]] inline Floats code_at(Floats place) {
  const Floats zero = {};
  const Floats greatest = zero + greatest_code;
  return nearest_whole(smaller(greatest, larger(zero, place)));
}

template <typename Floats>
[[gnu::always_inline]] inline Floats stored_as(TensorType type, Floats values) {
  using Bits = typename BitsOf<Floats>::Type;
  switch (type) {
    case TensorType::F16: return f16_value<Floats, Bits>(f16_bits<Floats, Bits>(values));
    case TensorType::BF16: return bits_as<Floats>(bf16_bits<Floats, Bits>(values) << 16);
    default: return values;
  }
}

// Scale and bias per lane, rounded to the stored type.
template <typename Floats>
struct Lattices {
  Floats scale, bias;
};

// Searches one group in each lane.
template <std::size_t WIDTH>
class Search {
 public:
  using Floats = typename Vectors<WIDTH>::Floats;
  using Masks = typename Vectors<WIDTH>::Masks;
  static constexpr std::size_t lanes = Vectors<WIDTH>::lanes;

  [[gnu::always_inline]] Search(const float* values, TensorType scale_type) : type_(scale_type) {
    for (std::size_t i = 0; i < group; ++i) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sorted_[i][lane] = values[lane * group + i] + 0.0f;
    }
  }

  [[gnu::always_inline]] void find() {
    sort(network<false>);
    const Floats lowest[2] = {sorted_[0], sorted_[half]};
    const Floats distances[2] = {smallest_distance(0), smallest_distance(half)};
    sort(network<true>);
    count_equals();
    const Floats range = sorted_[group - 1] - sorted_[0];
    best_ = lattices(range / greatest_code, sorted_[0]);
    // Without a range, the values are equal or too close for a step in the stored type: use the bias alone.
    const Masks has_range = best_.scale > Floats{};
    least_ = squared_error(best_);
    for (std::size_t k = 0; k < 2; ++k) try_lattices(lowest[k], distances[k], has_range);
    best_.scale = has_range ? best_.scale : Floats{};
  }

  [[gnu::always_inline]] ScaleAndBias best(std::size_t lane) const { return {best_.scale[lane], best_.bias[lane]}; }

 private:
  template <typename Network>
  [[gnu::always_inline]] void sort(const Network& network) {
    for (const Comparator& comparator : network) {
      const Floats a = sorted_[comparator.low];
      const Floats b = sorted_[comparator.high];
      sorted_[comparator.low] = smaller(b, a);
      sorted_[comparator.high] = larger(a, b);
    }
  }

  // Returns the smallest distance of two distinct values in the sorted half that begins at `first`; 0 if all are equal.
  [[gnu::always_inline]] Floats smallest_distance(std::size_t first) const {
    Floats smallest = {};
    for (std::size_t i = first + 1; i < first + half; ++i) {
      const Floats distance = sorted_[i] - sorted_[i - 1];
      const Masks is_smaller = (distance > Floats{}) & ((smallest == Floats{}) | (distance < smallest));
      smallest = is_smaller ? distance : smallest;
    }
    return smallest;
  }

  // Counts the occurrences of each distinct value; the count is valid at the last of the equal values.
  [[gnu::always_inline]] void count_equals() {
    Floats run = {};
    for (std::size_t i = 0; i < group; ++i) {
      run += 1.0f;
      counts_[i] = run;
      is_last_[i] = i + 1 == group ? Masks{} - 1 : sorted_[i] != sorted_[i + 1];
      run = is_last_[i] ? Floats{} : run;
    }
  }

  [[gnu::always_inline]] Lattices<Floats> lattices(Floats scale, Floats bias) const {
    return {stored_as(type_, scale), stored_as(type_, bias)};
  }

  [[gnu::always_inline]] Floats squared_error(const Lattices<Floats>& lattice) const {
    Floats sum = {};
    const Floats inverse = 1.0f / lattice.scale;
    for (std::size_t i = 0; i < group; ++i) {
      const Floats code = code_at((sorted_[i] - lattice.bias) * inverse);
      const Floats difference = code * lattice.scale + lattice.bias - sorted_[i];
      const Floats errors = counts_[i] * (difference * difference);
      sum += bits_as<Floats>(bits_as<Masks>(errors) & is_last_[i]);
    }
    return sum;
  }

  // Tries lattices through `lowest` whose step is an integer fraction of `distance`; none in lanes where `distance` is
  // 0.
  [[gnu::always_inline]] void try_lattices(Floats lowest, Floats distance, Masks lanes_left) {
    const Floats low = sorted_[0];
    const Floats above = sorted_[group - 1] - lowest;
    lanes_left &= distance > Floats{};
    for (u32 parts = 1; parts <= most_parts; ++parts) {
      const Floats step = distance / static_cast<float>(parts);
      const Floats below = next_whole((lowest - low) / step);  // steps from the group's lowest value to `lowest`
      const Lattices<Floats> lattice = lattices(step, lowest - below * step);
      lanes_left &= ~(above / step + below > Floats{} + (greatest_code + 0.5f));
      lanes_left &= (lattice.scale > Floats{}) & (least_ > Floats{});
      if (!any(lanes_left)) return;
      const Floats error = squared_error(lattice);
      const Masks is_better = lanes_left & (error < least_);
      least_ = is_better ? error : least_;
      best_.scale = is_better ? lattice.scale : best_.scale;
      best_.bias = is_better ? lattice.bias : best_.bias;
    }
  }

  [[gnu::always_inline]] static bool any(Masks masks) {
    i32 all = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) all |= masks[lane];
    return all != 0;
  }

  const TensorType type_;
  Floats sorted_[group], counts_[group];
  Masks is_last_[group];
  Floats least_;
  Lattices<Floats> best_;
};

[[gnu::always_inline]] inline void write_codes(const float* values, const ScaleAndBias& lattice, u8* codes) {
  if (lattice.scale == 0) {
    std::fill_n(codes, group, u8{0});
    return;
  }
  for (std::size_t i = 0; i < group; ++i) {
    codes[i] = static_cast<u8>(static_cast<i32>(code_at((values[i] - lattice.bias) / lattice.scale)));
  }
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void search_all(const float* values, TensorType scale_type, std::span<ScaleAndBias> out,
                                              u8* codes) {
  constexpr std::size_t lanes = Vectors<WIDTH>::lanes;
  std::array<float, lanes * group> last;
  for (std::size_t first = 0; first < out.size(); first += lanes, values += lanes * group, codes += lanes * group) {
    const std::size_t here = std::min(lanes, out.size() - first);
    const float* batch = values;
    if (here < lanes) {  // repeat the first group in unused lanes
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        std::copy_n(values + (lane < here ? lane : 0) * group, group, last.data() + lane * group);
      }
      batch = last.data();
    }
    Search<WIDTH> search(batch, scale_type);
    search.find();
    for (std::size_t lane = 0; lane < here; ++lane) {
      out[first + lane] = search.best(lane);
      write_codes(values + lane * group, out[first + lane], codes + lane * group);
    }
  }
}

}  // namespace

void search_two_scales(std::span<const float> values, TensorType scale_type, std::span<ScaleAndBias> lattices,
                       std::span<u8> codes, Instructions instructions) {
  run_with(
      instructions, [&](auto width) __attribute__((always_inline)) {
        search_all<decltype(width)::value>(values.data(), scale_type, lattices, codes.data());
      });
}

}  // namespace modelutils::mlx
