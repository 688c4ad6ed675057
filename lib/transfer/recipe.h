// Recipes: how each tensor of a target is assembled from source tensors. Planned from headers only, for a GGUF or a
// directory, and read by converters, verify --against, model-diff and reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arch/names.h"
#include "arch/row_view.h"
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

}  // namespace modelutils
