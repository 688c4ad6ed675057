// The codebooks of ggml's IQ block types: entries of 4 or 8 values. Generated: lib/tensor/make-codebooks.
#pragma once

#include <array>
#include <bit>

#include "base/types.h"

namespace modelutils {

extern const std::array<std::array<i8, 8>, 256> iq2xxs_grid;  ///< magnitudes 8, 25, 43
extern const std::array<std::array<i8, 8>, 512> iq2xs_grid;   ///< magnitudes 8, 25, 43
extern const std::array<std::array<i8, 8>, 1024> iq2s_grid;   ///< magnitudes 8, 25, 43
extern const std::array<std::array<i8, 4>, 256> iq3xxs_grid;  ///< magnitudes 4, 12 … 52, 62
extern const std::array<std::array<i8, 4>, 512> iq3s_grid;    ///< magnitudes 1, 3 … 15
extern const std::array<std::array<i8, 8>, 2048> iq1s_grid;   ///< -1, 0, 1
extern const std::array<i8, 16> iq4nl_values;                 ///< the levels of IQ4_NL and IQ4_XS

/// Returns the sign byte of a 7-bit code: bit 7 is set so that the number of set bits is even.
constexpr u8 even_signs(u32 code) {
  return static_cast<u8>(code | static_cast<u32>(std::popcount(code) & 1) << 7);
}

}  // namespace modelutils
