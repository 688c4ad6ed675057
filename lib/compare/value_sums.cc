#include "compare/value_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace modelutils {

namespace {

bool is_equal(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// With values that are not finite.
ValueSums careful_sums(std::span<const float> a, std::span<const float> b) {
  ValueSums sums;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool is_finite = std::isfinite(a[i]) && std::isfinite(b[i]);
    if (!is_equal(a[i], b[i])) {
      ++sums.different;
      if (!is_finite) ++sums.unordered;
    }
    if (!is_finite) continue;
    const double value = static_cast<double>(a[i]), other = static_cast<double>(b[i]);
    const double difference = other - value;
    sums.aa += value * value;
    sums.bb += other * other;
    sums.dd += difference * difference;
    sums.max_abs = std::max(sums.max_abs, std::abs(difference));
  }
  return sums;
}

// Running sums, element i in those of lane i % 8, however wide a vector is: the order of additions, and so the result,
// is the same on every machine.
struct Lanes {
  static constexpr std::size_t count = 8;
  std::array<double, count> aa{}, bb{}, dd{};
  std::array<double, count> largest{};  // of d²
  std::array<u32, count> different{};
};

// Vectors of WIDTH bytes; a Half has as many floats as Doubles has doubles.
template <std::size_t WIDTH>
struct Vectors {
  using Doubles [[gnu::vector_size(WIDTH)]] = double;
  using Floats [[gnu::vector_size(WIDTH)]] = float;
  using Half [[gnu::vector_size(WIDTH / 2)]] = float;
  using Counts [[gnu::vector_size(WIDTH)]] = i32;
};

template <typename Vector>
[[gnu::always_inline]] inline void load_vector(const float* from, Vector& to) {
  std::memcpy(&to, from, sizeof(Vector));
}

template <typename Vector, typename Number>
[[gnu::always_inline]] inline void store_vector(const Vector& from, Number* to) {
  std::memcpy(to, &from, sizeof(Vector));
}

template <typename Half, typename Doubles>
[[gnu::always_inline]] inline void load_widened(const float* from, Doubles& to) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (sizeof(Doubles) == 32) {  // g++ 12 makes four instructions of the conversion below
    __asm__("vcvtps2pd %1, %0" : "=x"(to) : "m"(*reinterpret_cast<const float(*)[4]>(from)));
    return;
  }
#endif
  Half half;
  load_vector(from, half);
  to = __builtin_convertvector(half, Doubles);
}

// sum += value²: of a float, the square is exact in a double, so it does not matter whether it is rounded before it is
// added.
template <typename Doubles>
[[gnu::always_inline]] inline void add_square(const Doubles& value, Doubles& sum) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (sizeof(Doubles) == 32) {
    Doubles result = sum;
    __asm__("vfmadd231pd %1, %1, %0" : "+x"(result) : "x"(value));
    sum = result;
    return;
  }
#endif
  sum += value * value;
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void add_up(const float* a, const float* b, std::size_t size, Lanes& lanes) {
  using Doubles = typename Vectors<WIDTH>::Doubles;
  using Half = typename Vectors<WIDTH>::Half;
  using Floats = typename Vectors<WIDTH>::Floats;
  using Counts = typename Vectors<WIDTH>::Counts;
  constexpr std::size_t doubles = WIDTH / sizeof(double), floats = WIDTH / sizeof(float);
  Doubles aa[Lanes::count / doubles] = {}, bb[Lanes::count / doubles] = {}, dd[Lanes::count / doubles] = {};
  Doubles largest[Lanes::count / doubles] = {};
  Counts different[Lanes::count / floats] = {};
  for (std::size_t i = 0; i < size; i += Lanes::count) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Lanes::count / doubles; ++k) {
      Doubles value, other;
      load_widened<Half>(a + i + k * doubles, value);
      load_widened<Half>(b + i + k * doubles, other);
      const Doubles difference = other - value;
      const Doubles square = difference * difference;
      add_square(value, aa[k]);
      add_square(other, bb[k]);
      dd[k] += square;
      largest[k] = square > largest[k] ? square : largest[k];
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Lanes::count / floats; ++k) {
      Floats value, other;
      load_vector(a + i + k * floats, value);
      load_vector(b + i + k * floats, other);
      different[k] -= value != other;
    }
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < Lanes::count / doubles; ++k) {
    store_vector(aa[k], &lanes.aa[k * doubles]);
    store_vector(bb[k], &lanes.bb[k * doubles]);
    store_vector(dd[k], &lanes.dd[k * doubles]);
    store_vector(largest[k], &lanes.largest[k * doubles]);
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < Lanes::count / floats; ++k) store_vector(different[k], &lanes.different[k * floats]);
}

}  // namespace

void ValueSums::add(const ValueSums& other) {
  aa += other.aa;
  bb += other.bb;
  dd += other.dd;
  max_abs = std::max(max_abs, other.max_abs);
  different += other.different;
  unordered += other.unordered;
}

double ValueSums::rms() const {
  if (dd == 0) return 0;
  return aa > 0 ? std::sqrt(dd / aa) : std::numeric_limits<double>::infinity();
}

double ValueSums::cosine() const {
  if (dd == 0) return 1;
  if (aa == 0 || bb == 0) return 0;
  return std::clamp((aa + bb - dd) / 2 / std::sqrt(aa * bb), -1.0, 1.0);
}

ValueSums sums_of(std::span<const float> a, std::span<const float> b, Instructions instructions) {
  Lanes lanes;
  const std::size_t whole = a.size() - a.size() % Lanes::count;
  run_with(
      instructions, [&, x = a.data(), y = b.data() ](auto width)
                        __attribute__((always_inline)) { add_up<decltype(width)::value>(x, y, whole, lanes); });
  ValueSums sums;
  double largest = 0;
  for (std::size_t k = 0; k < Lanes::count; ++k) {
    sums.aa += lanes.aa[k];
    sums.bb += lanes.bb[k];
    sums.dd += lanes.dd[k];
    largest = std::max(largest, lanes.largest[k]);
    sums.different += lanes.different[k];
  }
  // The root of a rounded square is the number itself, as long as the square is a normal number.
  sums.max_abs = std::sqrt(largest);
  if (!std::isfinite(sums.aa) || !std::isfinite(sums.dd)) return careful_sums(a, b);
  if (whole < a.size()) sums.add(careful_sums(a.subspan(whole), b.subspan(whole)));
  return sums;
}

std::optional<std::size_t> first_difference(std::span<const float> a, std::span<const float> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!is_equal(a[i], b[i])) return i;
  }
  return std::nullopt;
}

}  // namespace modelutils
