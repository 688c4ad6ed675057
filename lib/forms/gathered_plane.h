// Planes that do not lie row after row: codes packed in words along the rows or across them, scales with the columns
// outside, as GPTQ, AWQ and compressed-tensors store them (docs/formats/hf-quantized.md). A code becomes a byte.
#pragma once

#include "base/byte_source.h"
#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// Where element `column` of row `row` is. Streams are of bits, little-endian, in words of 32 bits.
struct Gather {
  enum class Kind : u8 {
    none,              ///< row after row: nothing to gather
    codes_in_rows,     ///< a row is a stream that begins every `stride` bytes
    words_of_columns,  ///< the stream of a row: its word w is at w × stride + 4 × row
    codes_of_columns,  ///< a column is a stream that begins every `stride` bytes, the code of a row at row × bits
    words_of_rows,     ///< a column is a stream: its word w is at w × stride + 4 × column
    values_in_rows,    ///< values of `bits`, the row's first at row × stride
    values_of_columns  ///< values of `bits` at column × stride + row × bits / 8
  };
  Kind kind = Kind::none;
  u8 bits = 0;
  u8 codes_in_word = 0;      ///< 0: codes run on from word to word
  bool is_shuffled = false;  ///< AWQ: of eight codes, number k is in nibble {0, 4, 1, 5, 2, 6, 3, 7}[k]
  u64 stride = 0;            ///< bytes
  u64 columns = 0;           ///< elements of a row

  bool operator==(const Gather&) const = default;
};

/// Rows [first, first + count) of the plane at `offset`: for each `gather.columns` codes of a byte, or values. Reads
/// what those rows take, and what lies between if that is little. Errors: reading.
Status read_gathered(const ByteSource& file, u64 offset, const Gather& gather, u64 first, u64 count, MutableBytes out);

}  // namespace modelutils
