// Gathered planes whose bytes are read for more rows than are wanted at a time: reading is one thing, making codes and
// values of what was read another.
#pragma once

#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "forms/gathered_plane.h"

namespace modelutils {

/// Do rows lie across the lines of the file, so that many of them cost little more to read than one?
bool lies_across(const Gather& gather);

/// What some rows take of the file: pieces of lines, one after another.
struct GatheredPieces {
  u64 first = 0;  ///< row
  u64 count = 0;
  u64 line_bytes = 0;
  std::vector<std::byte> bytes;  ///< at least as many as they take
};

/// Reads what rows [first, first + count) of the plane at `offset` take. Errors: reading.
Status read_pieces(const ByteSource& file, u64 offset, const Gather& gather, u64 first, u64 count, GatheredPieces& out);

/// Some of these rows, as read_gathered() gives them.
void gather_rows(const Gather& gather, const GatheredPieces& pieces, u64 first, u64 count, MutableBytes out);

}  // namespace modelutils
