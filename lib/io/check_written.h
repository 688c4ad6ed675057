// Reads an output back before it gets its final name.
#pragma once

#include <string_view>

#include "io/atomic_output.h"

namespace modelutils {

/// Checks that the file under its temporary name has `size` bytes and begins with `header`, as they were planned. Skips
/// outputs that cannot be read back (pipes). Error: "out-check".
Status check_written(const AtomicOutput& output, std::string_view header, u64 size);

}  // namespace modelutils
