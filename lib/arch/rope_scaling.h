// Rope scaling as numbers: the llama3 formula both ways, and what longrope needs. Source: docs/conversion.md ("Rope").
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// Parameters of rope type "llama3".
struct Llama3Rope {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_context = 8192;  ///< original_max_position_embeddings
};

/// The divisors of the rotation angles, n_rot / 2 of them, as float32: the content of rope_freqs.weight.
std::vector<float> llama3_rope_freqs(double theta, u64 n_rot, const Llama3Rope& parameters);

/// The parameters whose divisors are `freqs` up to float32 rounding (some units in the last place), searched among the
/// factors that published models use; nothing if none fits.
std::optional<Llama3Rope> find_llama3_rope(double theta, std::span<const float> freqs);

/// Attention factor of phi3's longrope: sqrt(1 + ln(scale) / ln(original)) where scale = context / original > 1,
/// else 1.
double longrope_attention_factor(double context, double original_context);

}  // namespace modelutils
