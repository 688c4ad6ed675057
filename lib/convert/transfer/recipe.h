// Recipes: how each tensor of a target is assembled from source tensors, whose units are read in the target's order.
// Planned from headers only, for a GGUF or a directory, and read by converters, verify --against, model-diff and
// reports, some of which read the planned file before it is written.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/names.h"
#include "arch/row_view.h"
#include "base/byte_reader.h"
#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// Maps units of one source tensor to target units: row r of `from` goes to row r of `to`. If a target is assembled
/// from parts, `to` is contiguous; if a source is split, `from` is.
struct RecipePart {
  std::size_t source = 0;           ///< index into HfModel::matrices or Catalog::tensors
  arch::RowView from;               ///< source units, in the order they are used
  arch::RowView to;                 ///< target units; the same number
  std::vector<float> factors = {};  ///< multipliers of the values: none, one, or one per expert of the source

  u64 units() const { return from.rows(); }
  /// Returns the multiplier for a source unit.
  float factor_of(u64 source_unit) const;
};

struct TensorRecipe {
  std::string name;
  std::vector<u64> ne;            ///< target shape, ne0 first
  u64 unit = 1;                   ///< elements per unit: a row, a part of one, or a single element; never 0
  std::vector<RecipePart> parts;  ///< every target unit comes from exactly one part
  /// Applied to the values of a small tensor, or inverted in the other direction.
  arch::Operation operation = arch::Operation::none;
  float operand = 0;
  std::vector<float> values;  ///< values of a tensor generated from settings, which has no parts

  u64 elements() const;
  u64 units() const { return elements() / unit; }
};

/// Maps target units to source units. The part must outlive this object.
class PartUnits {
 public:
  explicit PartUnits(const RecipePart& part);

  const RecipePart& part() const { return part_; }
  /// Returns nullopt if another part provides the target unit.
  std::optional<u64> source_of(u64 unit) const;
  /// Range of target units that may belong to this part.
  u64 begin() const { return part_.to.base; }
  u64 end() const { return end_; }
  /// True if the units from begin() to end() are consecutive in the source.
  bool is_run() const { return is_run_; }

 private:
  const RecipePart& part_;
  arch::InverseView to_;
  u64 end_;
  bool is_run_;
};

// Operations on the values of small tensors, as an architecture's rows prescribe for the conversion to GGUF, and their
// inverse.

/// Converts a value of a small tensor for GGUF.
float apply_operation(arch::Operation operation, float operand, float value);

/// Returns the value that apply_operation() maps to `value`; preferably one that fits into 16 bits if rounding makes it
/// ambiguous.
float undo_operation(arch::Operation operation, float operand, float value);

// Reads the units of a recipe part in the target's order.

/// Reads the units [first, first + count) of the target that come from this part, `unit_bytes` each, to their places in
/// `out`; units from other parts are left unchanged. `read(source_unit, count, MutableBytes) -> Status` reads
/// consecutive source units; it is called for runs, and for stretches in any order that are mostly needed. Fails only
/// if `read` fails.
template <typename Read>
Status gather_units(const PartUnits& units, u64 first, u64 count, u64 unit_bytes, MutableBytes out, Read&& read);

/// A range of the source that contains the units for consecutive units of the target.
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
