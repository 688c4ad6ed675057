#include "model/byte_map.h"

#include <algorithm>

namespace modelutils {

ByteMap map_bytes(std::vector<ByteSpan> spans, u64 begin, u64 end) {
  for (ByteSpan& span : spans) {
    span.begin = std::clamp(span.begin, begin, end);
    span.end = std::clamp(span.end, span.begin, end);
  }
  std::erase_if(spans, [](const ByteSpan& span) { return span.begin == span.end; });
  std::stable_sort(spans.begin(), spans.end(), [](const ByteSpan& a, const ByteSpan& b) { return a.begin < b.begin; });

  ByteMap map;
  u64 reached = begin;  // every byte below is in a span or a reported gap
  std::size_t furthest = ByteGap::no_span;
  for (const ByteSpan& span : spans) {
    if (span.begin > reached) {
      map.gaps.push_back({reached, span.begin, furthest, span.id});
    } else if (span.begin < reached) {
      map.overlaps.push_back({furthest, span.id, span.begin, std::min(span.end, reached)});
    }
    if (span.end > reached) {
      reached = span.end;
      furthest = span.id;
    }
  }
  if (reached < end) map.gaps.push_back({reached, end, furthest, ByteGap::no_span});
  return map;
}

}  // namespace modelutils
