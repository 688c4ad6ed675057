// Checks our own output: applies every rule to the planned headers, and reads back what was written.
#pragma once

#include <vector>

#include "base/error.h"
#include "io/atomic_output.h"
#include "to_gguf/plan.h"

namespace modelutils::to_gguf {

/// Checks the planned headers before anything is written; tensor data reads as zeros. Error: "convert-self-check".
Status check_plan(const GgufPlan& plan, bool with_vocabulary);

/// Checks that the files under their temporary names have the planned sizes and headers, byte for byte. Skips outputs
/// that cannot be read back (pipes). Errors: "out-write" (wrong size), "out-check" (the disk returned other bytes than
/// were written).
Status check_written(const GgufPlan& plan, const std::vector<AtomicOutput>& outputs);

}  // namespace modelutils::to_gguf
