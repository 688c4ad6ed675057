// CRC-32 as in ZIP archives and zlib, several times faster on processors with carry-less multiplication.
#pragma once

#include "base/types.h"

namespace modelutils::pytorch {

/// The processor's carry-less multiplication: none, or the number of bytes per instruction.
enum class CarrylessProduct : u8 { none, of_16_bytes, of_32_bytes };
/// Returns the widest variant that this machine supports.
CarrylessProduct best_carryless_product();

/// Continues `crc` with `bytes`. Start with 0.
u32 crc32_of(u32 crc, Bytes bytes, CarrylessProduct product = best_carryless_product());
/// Returns the CRC-32 of two concatenated pieces, given the CRC-32 of each and the size of the second.
u32 crc32_joined(u32 first, u32 second, u64 second_bytes);

}  // namespace modelutils::pytorch
