// Measures the error of quantised values.
#pragma once

#include <span>

#include "convert/requantize/quantize_model.h"

namespace modelutils::requantize {

/// Accumulates the error of `carried` against `exact`. `weights`: one per element, or empty.
void measure_row(std::span<const float> exact, std::span<const float> carried, std::span<const float> weights,
                 TensorError& error);

}  // namespace modelutils::requantize
