// How far values were carried from what they are.
#pragma once

#include <span>

#include "transfer/conversion_report.h"

namespace modelutils {

/// Adds what `carried` differs from `exact` by. NaN in both places is no difference.
void measure(std::span<const float> exact, std::span<const float> carried, MeasuredError& error);

}  // namespace modelutils
