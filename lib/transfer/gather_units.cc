#include "transfer/gather_units.h"

namespace modelutils {

SourceStretch next_stretch(std::span<const u64> sources) {
  constexpr std::size_t most_in_vain = 64;  // stop after this many units that do not extend the stretch
  SourceStretch best{sources.front(), sources.front(), 1, true};
  u64 low = best.low;
  u64 high = best.high;
  bool is_in_order = true;
  for (std::size_t i = 1; i < sources.size() && sources[i] != no_unit && i - best.count <= most_in_vain; ++i) {
    low = std::min(low, sources[i]);
    high = std::max(high, sources[i]);
    is_in_order = is_in_order && sources[i] == sources.front() + i;
    if (high - low + 1 <= 2 * (i + 1)) best = {low, high, i + 1, is_in_order};
  }
  return best;
}

}  // namespace modelutils
