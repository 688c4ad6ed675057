// The CRC-32 of ZIP archives: as zlib's, several times as fast where the processor multiplies without carries.
#pragma once

#include "base/types.h"

namespace modelutils::pytorch {

/// How the processor multiplies polynomials: not at all, 16 bytes at a time, 32 bytes at a time.
enum class CarrylessProduct : u8 { none, of_16_bytes, of_32_bytes };
/// The widest that this machine has.
CarrylessProduct best_carryless_product();

/// The CRC-32 of what `crc` is of, followed by `bytes`; 0 is that of nothing.
u32 crc32_of(u32 crc, Bytes bytes, CarrylessProduct product = best_carryless_product());
/// That of two pieces, one after the other, from those of each.
u32 crc32_joined(u32 first, u32 second, u64 second_bytes);

}  // namespace modelutils::pytorch
