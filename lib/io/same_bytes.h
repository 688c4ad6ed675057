// Compares ranges of files.
#pragma once

#include "base/byte_source.h"

namespace modelutils {

/// True if `size` bytes of `a` at `offset_a` equal those of `b` at `offset_b`. Reads both in steps of 256 KiB, up to
/// the first difference. Errors: those of reading.
Result<bool> same_bytes(const ByteSource& a, u64 offset_a, const ByteSource& b, u64 offset_b, u64 size);

}  // namespace modelutils
