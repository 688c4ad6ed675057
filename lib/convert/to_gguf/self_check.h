// Applies every rule to the planned headers.
#pragma once

#include "base/error.h"
#include "convert/to_gguf/plan.h"

namespace modelutils::to_gguf {

/// Checks the planned headers before anything is written; tensor data reads as zeros. Error: "convert-self-check".
Status check_plan(const GgufPlan& plan, bool with_vocabulary);

}  // namespace modelutils::to_gguf
