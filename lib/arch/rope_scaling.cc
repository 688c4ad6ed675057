#include "arch/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace modelutils {

std::vector<float> llama3_rope_freqs(double theta, u64 n_rot, const Llama3Rope& p) {
  std::vector<float> freqs;
  freqs.reserve(static_cast<std::size_t>(n_rot / 2));
  for (u64 i = 0; i < n_rot / 2; ++i) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(n_rot));
    const double wavelength = 2.0 * std::numbers::pi / frequency;
    double divisor = p.factor;
    const double high = p.original_context / p.high_freq_factor, low = p.original_context / p.low_freq_factor;
    if (wavelength < high || (low == high && wavelength == low)) {  // with equal limits there is nothing to interpolate
      divisor = 1;
    } else if (wavelength <= low) {
      const double smooth =
          (p.original_context / wavelength - p.low_freq_factor) / (p.high_freq_factor - p.low_freq_factor);
      divisor = 1.0 / ((1.0 - smooth) / p.factor + smooth);
    }
    freqs.push_back(static_cast<float>(divisor));
  }
  return freqs;
}

namespace {

// Converters compute in float32 or double. That changes interpolated divisors r by up to 4e-7 r²: the interpolation
// weight's error, magnified by taking the reciprocal.
bool is_rounding(float a, float b) {
  return std::abs(a - b) <= (1e-6f * b + 2 * std::numeric_limits<float>::epsilon()) * b;
}

}  // namespace

std::optional<Llama3Rope> find_llama3_rope(double theta, std::span<const float> freqs) {
  if (freqs.empty()) return std::nullopt;
  const float largest = *std::max_element(freqs.begin(), freqs.end());
  if (!(largest >= 1) || !std::isfinite(largest)) return std::nullopt;
  // With short heads or small bases no divisor reaches the factor itself, so try those of published models.
  constexpr double factors[] = {0, 8, 32, 16, 4, 2, 64};
  // If all angles are scaled alike, the other three parameters do not matter, so try the usual pair of limits first.
  constexpr std::pair<double, double> limits[] = {{1, 4}, {1, 2}, {1, 8}, {1, 16}, {1, 32}};
  constexpr double contexts[] = {8192,   4096,   2048,    1024, 16384, 32768, 65536, 131072,
                                 262144, 524288, 1048576, 512,  256,   128,   64,    32};
  for (const double factor : factors) {
    if (factor != 0 && factor <= static_cast<double>(largest)) continue;
    for (const auto& [low, high] : limits) {
      for (const double original : contexts) {
        const Llama3Rope candidate{factor == 0 ? static_cast<double>(largest) : factor, low, high, original};
        const std::vector<float> expected = llama3_rope_freqs(theta, 2 * freqs.size(), candidate);
        if (std::equal(freqs.begin(), freqs.end(), expected.begin(), is_rounding)) return candidate;
      }
    }
  }
  return std::nullopt;
}

double longrope_attention_factor(double context, double original_context) {
  const double scale = context / original_context;
  return scale > 1 ? std::sqrt(1 + std::log(scale) / std::log(original_context)) : 1;
}

}  // namespace modelutils
