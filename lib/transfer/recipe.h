// How a tensor of a target is made of a source's tensors: what is planned of every tensor of a GGUF and of a directory,
// and what converters, verify --against, model-diff and reports read. Decided from headers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arch/names.h"
#include "arch/row_view.h"
#include "base/types.h"

namespace modelutils {

/// Units of one tensor of the source and where they go: row r of `from` is row r of `to`. Where a target is put
/// together of parts, `to` is a run; where a source is taken apart, `from` is.
struct RecipePart {
  std::size_t source = 0;           ///< index of the tensor: into HfModel::matrices, or Catalog::tensors
  arch::RowView from;               ///< units of the source, in the order in which they are taken
  arch::RowView to;                 ///< units of the target; as many
  std::vector<float> factors = {};  ///< of the values: none, one for all, or one for each of the source's experts

  u64 units() const { return from.rows(); }
  /// What the values of a unit of the source are multiplied by.
  float factor_of(u64 source_unit) const;
};

struct TensorRecipe {
  std::string name;
  std::vector<u64> ne;            ///< of the target, ne0 first
  u64 unit = 1;                   ///< elements that stay together: a row, a piece of one, or a single element; never 0
  std::vector<RecipePart> parts;  ///< every unit of the target comes from exactly one of them
  arch::Operation operation =
      arch::Operation::none;  ///< on the values of a small tensor: done, or undone on the way back
  float operand = 0;
  std::vector<float> values;  ///< of a tensor that is made of settings; then there are no parts

  u64 elements() const;
  u64 units() const { return elements() / unit; }
};

/// Which unit of the source each unit of the target is. The part must outlive it.
class PartUnits {
 public:
  explicit PartUnits(const RecipePart& part);

  const RecipePart& part() const { return part_; }
  /// Nothing if the unit of the target is of another part.
  std::optional<u64> source_of(u64 unit) const;
  /// The first and one past the last unit of the target that can be of this part.
  u64 begin() const { return part_.to.base; }
  u64 end() const { return end_; }
  /// Do the units from begin() to end() follow one another in the source?
  bool is_run() const { return is_run_; }

 private:
  const RecipePart& part_;
  arch::InverseView to_;
  u64 end_;
  bool is_run_;
};

}  // namespace modelutils
