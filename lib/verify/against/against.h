// verify --against: a model and what it was converted from. Internal.
#pragma once

#include "model/format.h"
#include "rules/formats.h"
#include "verify/verify.h"

namespace modelutils {

/// What is wrong with `converted` when the model of `source` is what it was made from. Findings about the source itself
/// (codes of opening it, "verify-no-parity") are among them, with its name.
FindingLog compare_with_source(const CheckedModel& checked, const Model& converted, const PathProbe& source);

}  // namespace modelutils
