// Computes llama3 rope scaling and its inverse, and longrope's attention factor. Source: docs/conversion.md ("Rope").
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// The parameters of rope type "llama3".
struct Llama3Rope {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_context = 8192;  ///< original_max_position_embeddings
};

/// Returns the n_rot / 2 divisors of the rotation angles as float32, the content of rope_freqs.weight.
std::vector<float> llama3_rope_freqs(double theta, u64 n_rot, const Llama3Rope& parameters);

/// Finds parameters whose divisors equal `freqs` up to float32 rounding (a few units in the last place), among values
/// that published models use. Returns nullopt if none fit.
std::optional<Llama3Rope> find_llama3_rope(double theta, std::span<const float> freqs);

/// Returns the attention factor of phi3's longrope: sqrt(1 + ln(scale) / ln(original)) if scale = context / original >
/// 1, otherwise 1.
double longrope_attention_factor(double context, double original_context);

}  // namespace modelutils
