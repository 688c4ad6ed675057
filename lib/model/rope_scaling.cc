#include "model/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace modelutils {

std::vector<float> llama3_rope_freqs(double theta, u64 n_rot, const Llama3Rope& p) {
  std::vector<float> freqs;
  freqs.reserve(static_cast<std::size_t>(n_rot / 2));
  for (u64 i = 0; i < n_rot / 2; ++i) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(n_rot));
    const double wavelength = 2.0 * std::numbers::pi / frequency;
    double divisor = p.factor;
    if (wavelength < p.original_context / p.high_freq_factor) {
      divisor = 1;
    } else if (wavelength <= p.original_context / p.low_freq_factor) {
      const double smooth =
          (p.original_context / wavelength - p.low_freq_factor) / (p.high_freq_factor - p.low_freq_factor);
      divisor = 1.0 / ((1.0 - smooth) / p.factor + smooth);
    }
    freqs.push_back(static_cast<float>(divisor));
  }
  return freqs;
}

std::optional<Llama3Rope> find_llama3_rope(double theta, std::span<const float> freqs) {
  if (freqs.empty()) return std::nullopt;
  const float factor = *std::max_element(freqs.begin(), freqs.end());
  if (!(factor >= 1) || !std::isfinite(factor)) return std::nullopt;
  // Converters compute in float32 or in double: the interpolated entries differ by a few units in the last place.
  constexpr float tolerance = 16 * std::numeric_limits<float>::epsilon();
  for (double original : {8192.0, 4096.0, 2048.0, 16384.0, 32768.0, 65536.0, 131072.0}) {
    for (double high : {4.0, 2.0, 8.0, 16.0, 32.0}) {
      for (double low : {1.0, 2.0, 0.5}) {
        if (high <= low) continue;
        const Llama3Rope candidate{factor, low, high, original};
        const std::vector<float> expected = llama3_rope_freqs(theta, 2 * freqs.size(), candidate);
        if (std::equal(freqs.begin(), freqs.end(), expected.begin(),
                       [](float a, float b) { return std::abs(a - b) <= tolerance * std::abs(b); })) {
          return candidate;
        }
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
