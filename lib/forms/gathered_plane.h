// Planes that are not stored row by row: codes packed in words along or across rows, and transposed scales, as in GPTQ,
// AWQ and compressed-tensors (docs/formats/hf-quantized.md). Each code is unpacked to a byte.
#pragma once

#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// The location of element `column` of row `row`. Streams are sequences of bits, little-endian, in words of 32 bits.
struct Gather {
  enum class Kind : u8 {
    none,              ///< stored row by row: nothing to gather
    codes_in_rows,     ///< each row is a stream; they start every `stride` bytes
    words_of_columns,  ///< each row is a stream; its word w is at w × stride + 4 × row
    codes_of_columns,  ///< each column is a stream; they start every `stride` bytes, with row r's code at bit r × bits
    words_of_rows,     ///< each column is a stream; its word w is at w × stride + 4 × column
    values_in_rows,    ///< values of `bits` bits; a row starts at row × stride
    values_of_columns  ///< values of `bits` bits, at column × stride + row × bits / 8
  };
  Kind kind = Kind::none;
  u8 bits = 0;
  u8 codes_in_word = 0;      ///< 0: codes run on across words
  bool is_shuffled = false;  ///< AWQ: of eight codes, code k is in nibble {0, 4, 1, 5, 2, 6, 3, 7}[k]
  u64 stride = 0;            ///< bytes
  u64 columns = 0;           ///< elements per row

  bool operator==(const Gather&) const = default;
};

/// Reads rows [first, first + count) of the plane at `offset`: `gather.columns` codes (one byte each) or values per
/// row. Reads the bytes that these rows need, and small gaps between them. Fails only if reading fails.
Status read_gathered(const ByteSource& file, u64 offset, const Gather& gather, u64 first, u64 count, MutableBytes out);

// The same in two steps, file access and unpacking, so that one read can serve more rows than are unpacked at a time.

/// True if rows lie across the lines of the file, so that reading many costs little more than reading one.
bool lies_across(const Gather& gather);

/// The bytes that a range of rows needs from the file: consecutive pieces of lines.
struct GatheredPieces {
  u64 first = 0;  ///< row
  u64 count = 0;
  u64 line_bytes = 0;
  std::vector<std::byte> bytes;  ///< may be longer than necessary
};

/// Reads the pieces for rows [first, first + count) of the plane at `offset`. Fails only if reading fails.
Status read_pieces(const ByteSource& file, u64 offset, const Gather& gather, u64 first, u64 count, GatheredPieces& out);

/// Unpacks some of these rows, with the same result as read_gathered().
void gather_rows(const Gather& gather, const GatheredPieces& pieces, u64 first, u64 count, MutableBytes out);

}  // namespace modelutils
