#include "tensor/value_sums.h"

#include <fmt/core.h>

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

// Adds value by value in doubles, for inputs where float sums are not accurate.
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
    sums.ab += value * other;
    sums.dd += difference * difference;
    sums.max_abs = std::max(sums.max_abs, std::abs(difference));
  }
  return sums;
}

enum class Wanted : u8 { all, error };

// True if a sum of squares computed in floats is accurate up to its last bits. Squares below 2^-126 lose at most 2^-150
// each; 2^32 times that is negligible next to 2^-90.
bool can_be_sum(double sum) {
  return sum >= 0x1p-90 && sum < std::numeric_limits<double>::infinity();
}

// True if all sums are accurate up to their last bits. ab is bounded by the squares, and if only b is not finite, dd is
// not finite either.
bool can_be_sums(const ValueSums& sums, Wanted wanted, float largest) {
  const bool is_equal = sums.dd == 0 && largest == 0;
  return can_be_sum(sums.aa) && (wanted == Wanted::error || can_be_sum(sums.bb)) && (is_equal || can_be_sum(sums.dd));
}

// Element i belongs to lane i % 16, whatever the vector width, so that the order of additions and the result are the
// same on every machine. At the end, lanes k and k + 8 are combined, and for doubles also k and k + 4.
struct Lanes {
  static constexpr std::size_t count = 16;
  static constexpr std::size_t run = 256;  // elements summed as floats before the sums are added to doubles
  std::array<double, count / 4> aa, bb, ab, dd;
  std::array<float, count / 2> largest;  // |d|
  std::array<i32, count / 2> different;
};

// Vector types of WIDTH bytes. A Half has as many floats as Doubles has doubles.
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
#if defined(__x86_64__) && !defined(__clang__) && defined(__OPTIMIZE__)
  if constexpr (sizeof(Doubles) == 32) {  // g++ 12 generates four instructions for the conversion below
    __asm__("vcvtps2pd %1, %0" : "=x"(to) : "m"(*reinterpret_cast<const float(*)[4]>(from)));
    return;
  }
#endif
  Half half;
  load_vector(from, half);
  to = __builtin_convertvector(half, Doubles);
}

// Adds a run's float sums to the sums in double, combining lanes k and k + 8.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void add_run(const typename Vectors<WIDTH>::Floats* run,
                                           typename Vectors<WIDTH>::Doubles* sums) {
  constexpr std::size_t doubles = WIDTH / sizeof(double), half = Lanes::count / 2;
  float lanes[Lanes::count];
  std::memcpy(lanes, run, sizeof lanes);
#pragma GCC unroll 8
  for (std::size_t k = 0; k < half / doubles; ++k) {
    typename Vectors<WIDTH>::Half low, high;
    load_vector(lanes + k * doubles, low);
    load_vector(lanes + k * doubles + half, high);
    float folded[doubles];
    store_vector(low + high, folded);
    typename Vectors<WIDTH>::Doubles wide;
    load_widened<typename Vectors<WIDTH>::Half>(folded, wide);
    sums[k] += wide;
  }
}

// Combines the lanes of `vectors` pairwise: lane k with lane k + HALF.
template <typename Vector, typename Number, std::size_t HALF, typename Together>
[[gnu::always_inline]] inline void fold(const Vector* vectors, std::array<Number, HALF>& out,
                                        const Together& together) {
  Number lanes[2 * HALF];
  std::memcpy(lanes, vectors, sizeof lanes);
  for (std::size_t k = 0; k < HALF; ++k) out[k] = together(lanes[k], lanes[k + HALF]);
}

// Sets only the lanes that `WANTED` selects.
template <std::size_t WIDTH, Wanted WANTED>
[[gnu::always_inline]] inline void add_up(const float* a, const float* b, std::size_t size, Lanes& lanes) {
  using Doubles = typename Vectors<WIDTH>::Doubles;
  using Floats = typename Vectors<WIDTH>::Floats;
  using Counts = typename Vectors<WIDTH>::Counts;
  constexpr std::size_t doubles = WIDTH / sizeof(double), floats = WIDTH / sizeof(float);
  constexpr std::size_t vectors = Lanes::count / floats, sums = Lanes::count / 2 / doubles;
  Doubles aa[sums] = {}, bb[sums] = {}, ab[sums] = {}, dd[sums] = {};
  Floats largest[vectors] = {};
  Counts different[vectors] = {};
  for (std::size_t i = 0; i < size;) {
    const std::size_t end = std::min(i + Lanes::run, size);
    Floats run_aa[vectors] = {}, run_bb[vectors] = {}, run_ab[vectors] = {}, run_dd[vectors] = {};
    for (; i < end; i += Lanes::count) {
#pragma GCC unroll 8
      for (std::size_t k = 0; k < vectors; ++k) {
        Floats value, other;
        load_vector(a + i + k * floats, value);
        load_vector(b + i + k * floats, other);
        const Floats difference = other - value;
        const auto magnitude = reinterpret_cast<Floats>(reinterpret_cast<Counts>(difference) & 0x7FFFFFFF);
        run_aa[k] += value * value;
        run_dd[k] += difference * difference;
        largest[k] = magnitude > largest[k] ? magnitude : largest[k];
        if constexpr (WANTED == Wanted::error) continue;
        run_bb[k] += other * other;
        run_ab[k] += value * other;
        different[k] -= value != other;
      }
    }
    add_run<WIDTH>(run_aa, aa);
    add_run<WIDTH>(run_dd, dd);
    if constexpr (WANTED == Wanted::error) continue;
    add_run<WIDTH>(run_bb, bb);
    add_run<WIDTH>(run_ab, ab);
  }
  const auto sum = [](auto one, auto other) __attribute__((always_inline)) {
    return one + other;
  };
  fold(aa, lanes.aa, sum);
  fold(bb, lanes.bb, sum);
  fold(ab, lanes.ab, sum);
  fold(dd, lanes.dd, sum);
  fold(different, lanes.different, sum);
  fold(
      largest, lanes.largest,
      [](float one, float other) __attribute__((always_inline)) { return one > other ? one : other; });
}

// Finds the largest |b − a| in each lane, computed exactly in double.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void find_largest(const float* a, const float* b, std::size_t size,
                                                std::array<double, Lanes::count / 2>& lanes) {
  using Doubles = typename Vectors<WIDTH>::Doubles;
  using Half = typename Vectors<WIDTH>::Half;
  constexpr std::size_t doubles = WIDTH / sizeof(double), vectors = Lanes::count / 2 / doubles;
  Doubles most[vectors] = {}, least[vectors] = {};
  for (std::size_t i = 0; i < size; i += Lanes::count / 2) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < vectors; ++k) {
      Doubles value, other;
      load_widened<Half>(a + i + k * doubles, value);
      load_widened<Half>(b + i + k * doubles, other);
      const Doubles difference = other - value;
      most[k] = difference > most[k] ? difference : most[k];
      least[k] = difference < least[k] ? difference : least[k];
    }
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < vectors; ++k) {
    store_vector(most[k] > -least[k] ? most[k] : -least[k], &lanes[k * doubles]);
  }
}

template <Wanted WANTED>
ValueSums sums_of(std::span<const float> a, std::span<const float> b, double known, WideInstructions instructions) {
  Lanes lanes{};
  const std::size_t whole = a.size() - a.size() % Lanes::count;
  run_with(
      instructions, [&, x = a.data(), y = b.data() ](auto width)
                        __attribute__((always_inline)) { add_up<decltype(width)::value, WANTED>(x, y, whole, lanes); });
  ValueSums sums;
  const auto sum_of = [](const std::array<double, 4>& parts) { return (parts[0] + parts[2]) + (parts[1] + parts[3]); };
  sums.aa = sum_of(lanes.aa);
  sums.bb = sum_of(lanes.bb);
  sums.ab = sum_of(lanes.ab);
  sums.dd = sum_of(lanes.dd);
  const float largest = std::ranges::max(lanes.largest);
  i32 different = 0;
  for (const i32 count : lanes.different) different += count;
  sums.different = static_cast<u32>(different);
  if (!can_be_sums(sums, WANTED, largest)) {
    sums = careful_sums(a, b);
    sums.max_abs = std::max(sums.max_abs, known);
    return sums;
  }
  sums.max_abs = known;
  // Rounding is monotonic, so a larger difference than the known one is possible only in this case.
  if (largest > 0 && largest >= static_cast<float>(known)) {
    std::array<double, Lanes::count / 2> exact;
    run_with(
        instructions, [&, x = a.data(), y = b.data() ](auto width)
                          __attribute__((always_inline)) { find_largest<decltype(width)::value>(x, y, whole, exact); });
    sums.max_abs = std::max(known, std::ranges::max(exact));
  }
  if (whole < a.size()) sums.add(careful_sums(a.subspan(whole), b.subspan(whole)));
  return sums;
}

}  // namespace

void ValueSums::add(const ValueSums& other) {
  aa += other.aa;
  bb += other.bb;
  ab += other.ab;
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
  // For nearly equal vectors, dd is more accurate; if their lengths differ a lot, it is not.
  const double product = aa <= 16 * bb && bb <= 16 * aa ? (aa + bb - dd) / 2 : ab;
  return std::clamp(product / std::sqrt(aa * bb), -1.0, 1.0);
}

std::string error_percent(double fraction) {
  if (!std::isfinite(fraction)) return "infinite";
  if (fraction == 0) return "0";
  double percent = 100 * fraction;
  // Not {:.2g}, which would write 123 as 1.2e+02.
  double unit = 1;
  while (percent / unit >= 99.5) unit *= 10;
  if (unit > 1) return fmt::format("{:.0f} %", std::round(percent / unit) * unit);
  return fmt::format("{:.2g} %", percent);
}

ValueSums sums_of(std::span<const float> a, std::span<const float> b, double known, WideInstructions instructions) {
  return sums_of<Wanted::all>(a, b, known, instructions);
}

void measure(std::span<const float> exact, std::span<const float> carried, ValueSums& error,
             WideInstructions instructions) {
  ValueSums sums = sums_of<Wanted::error>(exact, carried, error.max_abs, instructions);
  if (sums.unordered > 0) sums.dd = sums.max_abs = std::numeric_limits<double>::infinity();
  error.add(sums);
}

std::optional<std::size_t> first_difference(std::span<const float> a, std::span<const float> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!is_equal(a[i], b[i])) return i;
  }
  return std::nullopt;
}

}  // namespace modelutils
