// Comparing pieces of files.
#pragma once

#include "base/byte_source.h"

namespace modelutils {

/// Are the `size` bytes of `a` from `offset_a` on those of `b` from `offset_b` on? Reads both, 256 KiB at a time, up to
/// the first difference. Errors: reading.
Result<bool> same_bytes(const ByteSource& a, u64 offset_a, const ByteSource& b, u64 offset_b, u64 size);

}  // namespace modelutils
