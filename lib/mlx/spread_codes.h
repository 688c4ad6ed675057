// Unpacks codes of any width, eight at a time.
#pragma once

#include "base/types.h"

namespace modelutils::mlx {

/// Spreads eight codes of `bits` (2 … 8) bits, least significant first, to the eight bytes of a word. Ignores higher
/// bits of `stream`. Splits the stream into halves, quarters, and eighths in turn.
constexpr u64 spread_codes(u64 stream, u32 bits) {
  constexpr u64 ones = ~u64{0};
  const u64 half = ones >> (64 - 4 * bits);
  const u64 quarters = (ones >> (64 - 2 * bits)) * 0x0000000100000001u;
  const u64 eighths = (ones >> (64 - bits)) * 0x0001000100010001u;
  stream = (stream & half) | (stream >> (4 * bits) & half) << 32;
  stream = (stream & quarters) | (stream >> (2 * bits) & quarters) << 16;
  return (stream & eighths) | (stream >> bits & eighths) << 8;
}

}  // namespace modelutils::mlx
