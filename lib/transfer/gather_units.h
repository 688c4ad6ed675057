// Reads the units of a recipe part in the target's order.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "transfer/recipe.h"

namespace modelutils {

/// Reads the units [first, first + count) of the target that come from this part, `unit_bytes` each, to their places in
/// `out`; units from other parts are left unchanged. `read(source_unit, count, MutableBytes) -> Status` reads
/// consecutive source units; it is called for runs, and for stretches in any order that are mostly needed. Fails only
/// if `read` fails.
template <typename Read>
Status gather_units(const PartUnits& units, u64 first, u64 count, u64 unit_bytes, MutableBytes out, Read&& read);

/// A range of the source that contains consecutive units of the target.
struct SourceStretch {
  u64 low = 0, high = 0;    ///< first and last source unit
  std::size_t count = 0;    ///< number of target units
  bool is_in_order = true;  ///< the source units are consecutive
};
inline constexpr u64 no_unit = ~u64{0};

/// Returns the longest stretch that reads at most about twice the needed units. `sources` are the source units of
/// consecutive target units, up to the first no_unit; the first element must not be no_unit.
SourceStretch next_stretch(std::span<const u64> sources);

template <typename Read>
Status gather_units(const PartUnits& units, u64 first, u64 count, u64 unit_bytes, MutableBytes out, Read&& read) {
  const u64 begin = std::max(first, units.begin());
  const u64 end = std::min(first + count, units.end());
  if (begin >= end || unit_bytes == 0) return {};
  out = out.subspan((begin - first) * unit_bytes, (end - begin) * unit_bytes);
  if (units.is_run()) return read(units.part().from.base + begin - units.begin(), end - begin, out);
  // Not thread_local: the C library terminates the process if it cannot allocate the destructor's registration.
  std::vector<u64> sources;
  sources.reserve(end - begin);
  std::unique_ptr<std::byte[]> window;
  std::size_t window_size = 0;
  for (u64 unit = begin; unit < end; ++unit) sources.push_back(units.source_of(unit).value_or(no_unit));
  for (std::size_t i = 0; i < sources.size();) {
    if (sources[i] == no_unit) {
      ++i;
      continue;
    }
    const SourceStretch stretch = next_stretch(std::span(sources).subspan(i));
    const MutableBytes to = out.subspan(i * unit_bytes, stretch.count * unit_bytes);
    if (stretch.is_in_order) {
      MU_TRY(read(stretch.low, stretch.count, to));
    } else {
      const std::size_t size = (stretch.high - stretch.low + 1) * unit_bytes;
      if (size > window_size) window = std::make_unique_for_overwrite<std::byte[]>(window_size = size);
      MU_TRY(read(stretch.low, stretch.high - stretch.low + 1, MutableBytes(window.get(), size)));
      for (std::size_t k = 0; k < stretch.count; ++k) {
        std::memcpy(to.data() + k * unit_bytes, window.get() + (sources[i + k] - stretch.low) * unit_bytes, unit_bytes);
      }
    }
    i += stretch.count;
  }
  return {};
}

}  // namespace modelutils
