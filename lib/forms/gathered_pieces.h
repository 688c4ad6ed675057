// Reads gathered planes in two steps, file access and unpacking, so that one read can serve more rows than are unpacked
// at a time.
#pragma once

#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "forms/gathered_plane.h"

namespace modelutils {

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
