// The encoder of each ggml type. Internal: other folders call quantize_rows() (quantize.h).
#pragma once

#include <type_traits>

#include "base/instructions.h"
#include "base/types.h"

namespace modelutils::encode {

/// The rows to encode.
struct Rows {
  const float* values;
  const float* importance;  ///< one weight per element of a row, or nullptr
  u8* out;                  ///< whole blocks, at any alignment
  u64 rows;
  u64 ne0;               ///< elements per row, a multiple of the block's
  bool correct = false;  ///< follow the format where ggml's encoder deviates from it
  Instructions instructions = best_instructions();
};
using Encoder = void(const Rows& rows);

/// Calls body(values, importance, block) for each block of `elements` elements and `bytes` bytes. `importance` points
/// to the weights of the block's elements, or is nullptr.
template <typename Body>
[[gnu::always_inline]] inline void for_each_block(const Rows& rows, u32 elements, u32 bytes, const Body& body) {
  const float* values = rows.values;
  u8* out = rows.out;
  for (u64 row = 0; row < rows.rows; ++row) {
    for (u64 first = 0; first < rows.ne0; first += elements, values += elements, out += bytes) {
      body(values, rows.importance == nullptr ? nullptr : rows.importance + first, out);
    }
  }
}

Encoder f16, bf16;                                                   // plain.cc
Encoder q4_0, q4_1, q5_0, q5_1, q8_0;                                // simple.cc
Encoder weighted_q4_0, weighted_q4_1, weighted_q5_0, weighted_q5_1;  // simple_weighted.cc
Encoder q1_0, q2_0, tq1_0, tq2_0;                                    // ternary.cc
Encoder mxfp4, nvfp4;                                                // fp4.cc
Encoder q2_k, q3_k, q4_k, q5_k, q6_k;                                // k_blocks.cc
Encoder iq4_nl, iq4_xs;                                              // iq4.cc
Encoder iq2_xxs, iq2_xs, iq2_s;                                      // iq2.cc
Encoder iq3_xxs, iq3_s;                                              // iq3.cc
Encoder iq1_s, iq1_m;                                                // iq1.cc

}  // namespace modelutils::encode
