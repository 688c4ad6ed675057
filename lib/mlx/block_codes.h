// Extracts the codes of each block type that has an exact form (block_form.h), and packs eight codes into a word.
#pragma once

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils::mlx {

/// Writes the codes of one block, one per byte.
using TakeCodes = void(const u8* block, u8* codes);
/// Returns the function for a type; nullptr if the type has no exact form.
TakeCodes* codes_of(TensorType type);

/// The inverse of spread_codes(): packs the eight bytes of `codes`, each below 2^bits, without gaps.
constexpr u64 join_codes(u64 codes, u32 bits) {
  codes = (codes & 0x00FF00FF00FF00FFu) | (codes & 0xFF00FF00FF00FF00u) >> (8 - bits);
  codes = (codes & 0x0000FFFF0000FFFFu) | (codes & 0xFFFF0000FFFF0000u) >> (16 - 2 * bits);
  return (codes & 0x00000000FFFFFFFFu) | codes >> 32 << (4 * bits);
}

}  // namespace modelutils::mlx
