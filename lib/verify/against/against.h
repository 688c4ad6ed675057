// verify --against: compares a model with its conversion source. Internal.
#pragma once

#include "model/format.h"
#include "rules/formats.h"
#include "verify/verify.h"

namespace modelutils {

/// Compares `converted` with the model in `source` and returns the findings. Includes findings about the source itself
/// (codes of opening it, "verify-no-parity"), which carry its name.
FindingLog compare_with_source(const CheckedModel& checked, const Model& converted, const PathProbe& source);

}  // namespace modelutils
