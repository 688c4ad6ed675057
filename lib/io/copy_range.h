// Copies a range of one file into another, inside the kernel if possible.
#pragma once

#include "base/error.h"
#include "io/atomic_output.h"
#include "io/random_access_file.h"

namespace modelutils {

/// Appends `size` bytes of `source`, starting at `offset`, to `output`. Uses copy_file_range() if possible, otherwise a
/// buffer of 256 KiB. Errors: those of reading and of append(); "io-short" if the source ends early.
Status copy_range(const RandomAccessFile& source, u64 offset, u64 size, AtomicOutput& output);

}  // namespace modelutils
