// Copying a piece of one file into another inside the kernel where it can.
#pragma once

#include "base/error.h"
#include "io/atomic_output.h"
#include "io/random_access_file.h"

namespace modelutils {

/// Appends `size` bytes of `source` from `offset` on to `output`, by copy_file_range where the kernel can, otherwise
/// through a buffer of 256 KiB. Errors: those of reading and of append(); "io-short" if the source ends before.
Status copy_range(const RandomAccessFile& source, u64 offset, u64 size, AtomicOutput& output);

}  // namespace modelutils
