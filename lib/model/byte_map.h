// Accounts for every byte of a file: takes spans, returns gaps and overlaps.
#pragma once

#include <cstddef>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// The bytes [begin, end) of a structure that the caller numbers `id`. Empty spans are ignored.
struct ByteSpan {
  u64 begin = 0;
  u64 end = 0;
  std::size_t id = 0;
};

/// Bytes outside all spans.
struct ByteGap {
  u64 begin = 0;
  u64 end = 0;
  std::size_t before = no_span;  ///< id of the span with the last end before it
  std::size_t after = no_span;   ///< id of the span after it

  static constexpr std::size_t no_span = ~std::size_t{0};
};

/// A span that begins inside another one.
struct ByteOverlap {
  std::size_t first = 0;   ///< id of the span that begins earlier (or was given earlier)
  std::size_t second = 0;  ///< id of the span that begins inside the first
  u64 begin = 0;           ///< begin of the bytes that both contain
  u64 end = 0;
};

struct ByteMap {
  std::vector<ByteGap> gaps;          ///< in order of position
  std::vector<ByteOverlap> overlaps;  ///< each span is `second` at most once, with the span that reaches furthest
};

/// Finds gaps and overlaps in [begin, end). Spans may be in any order, each with begin <= end; parts outside the range
/// are ignored. Takes the time of sorting the spans.
ByteMap map_bytes(std::vector<ByteSpan> spans, u64 begin, u64 end);

}  // namespace modelutils
