// Reads what is about to be written as any other file and applies every rule to it; and reads back what was written.
#pragma once

#include <vector>

#include "base/error.h"
#include "io/atomic_output.h"
#include "to_gguf/plan.h"

namespace modelutils::to_gguf {

/// The planned headers, before a byte is written (data reads as zeros). Error "convert-self-check".
Status check_plan(const GgufPlan& plan, bool with_vocabulary);

/// The files on the disk under their temporary names, whose headers must be those that were planned, byte for byte.
/// Outputs that cannot be read back (pipes) are passed over. Errors: "out-write" (another size), "out-check" (a disk
/// that does not give back what it took).
Status check_written(const GgufPlan& plan, const std::vector<AtomicOutput>& outputs);

}  // namespace modelutils::to_gguf
