// Reads what is about to be written, or was written, as any other file, and applies every rule to it.
#pragma once

#include <vector>

#include "base/error.h"
#include "io/atomic_output.h"
#include "to_gguf/plan.h"

namespace modelutils::to_gguf {

/// The planned headers, before a byte is written (data reads as zeros). Error "convert-self-check".
Status check_plan(const GgufPlan& plan, bool with_vocabulary);

/// The files on the disk under their temporary names. Outputs that cannot be read back (pipes) are passed over. Errors:
/// "convert-self-check", "out-write" (another size), "out-check" (a disk that does not give back what it took).
Status check_written(const GgufPlan& plan, const std::vector<AtomicOutput>& outputs, bool with_vocabulary);

}  // namespace modelutils::to_gguf
