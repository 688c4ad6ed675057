#include "compare/value_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
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
    const double value = static_cast<double>(a[i]);
    const bool is_finite = std::isfinite(a[i]) && std::isfinite(b[i]);
    if (is_equal(a[i], b[i])) {
      if (is_finite) sums.aa += value * value;
      continue;
    }
    ++sums.different;
    if (!is_finite) {
      ++sums.unordered;
      continue;
    }
    const double difference = static_cast<double>(b[i]) - value;
    sums.aa += value * value;
    sums.ad += value * difference;
    sums.dd += difference * difference;
    sums.max_abs = std::max(sums.max_abs, std::abs(difference));
  }
  return sums;
}

}  // namespace

void ValueSums::add(const ValueSums& other) {
  aa += other.aa;
  ad += other.ad;
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
  const double bb = std::max(aa + 2 * ad + dd, 0.0);
  if (dd == 0) return 1;
  if (aa == 0 || bb == 0) return 0;
  return std::clamp((aa + ad) / std::sqrt(aa * bb), -1.0, 1.0);
}

ValueSums sums_of(std::span<const float> a, std::span<const float> b) {
  // Lanes of their own, which a compiler turns into vectors: a single sum would have to be added up in order.
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> aa{}, ad{}, dd{}, largest{};
  std::array<u32, lanes> different{};
  const std::size_t whole = a.size() - a.size() % lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) {
      const double value = static_cast<double>(a[i + k]);
      const double difference = static_cast<double>(b[i + k]) - value;
      aa[k] += value * value;
      ad[k] += value * difference;
      dd[k] += difference * difference;
      largest[k] = std::max(largest[k], std::abs(difference));
    }
    for (std::size_t k = 0; k < lanes; ++k) {
      different[k] += a[i + k] != b[i + k] ? 1 : 0;
    }
  }
  ValueSums sums;
  for (std::size_t k = 0; k < lanes; ++k) {
    sums.aa += aa[k];
    sums.ad += ad[k];
    sums.dd += dd[k];
    sums.max_abs = std::max(sums.max_abs, largest[k]);
    sums.different += different[k];
  }
  if (!std::isfinite(sums.aa) || !std::isfinite(sums.dd)) return careful_sums(a, b);
  sums.add(careful_sums(a.subspan(whole), b.subspan(whole)));
  return sums;
}

std::optional<std::size_t> first_difference(std::span<const float> a, std::span<const float> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!is_equal(a[i], b[i])) return i;
  }
  return std::nullopt;
}

}  // namespace modelutils
