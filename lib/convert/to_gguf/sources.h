// Sorts a directory's tensors by the family rows that use them, as input for map_tensors().
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "arch/geometry.h"
#include "arch/names.h"
#include "base/error.h"
#include "model/hf_model.h"

namespace modelutils {

/// The matrices for one part of an alternative: a single one, or one per expert.
using PartMatrices = std::map<u64, std::size_t>;  // expert number (0 if unstacked) -> index into HfModel::matrices

class HfSources {
 public:
  HfSources(const HfModel& model, const arch::Names& names) : model_(model), names_(names) {}

  /// Sorts all matrices. Error: "convert-experts" if two tensors have the same expert number.
  Status collect();

  /// Returns the layer count that the names imply: the highest layer number + 1, of the first stack.
  u64 layers() const { return layers_; }
  /// Returns the names that match no row, as spelled in the directory.
  const std::vector<std::string>& unmapped() const { return unmapped_; }

  /// Returns the sizes that tensor shapes imply, for arch::solve_sizes(). Only considers layers below `end`.
  std::vector<arch::ShapeFact> shape_facts(u64 end = arch::max_layers) const;

  /// Returns the matrices for each part of an alternative, or an empty list if any part has none.
  std::vector<const PartMatrices*> parts(const arch::Tensor& row, u64 layer, arch::Side side,
                                         std::size_t alternative) const;

  /// Marks matrices as used by a tensor; unused() lists the others.
  void use(const std::vector<const PartMatrices*>& parts);
  /// Marks a matrix as intentionally left out.
  void drop(std::size_t matrix) { used_[matrix] = true; }
  /// Returns, sorted, the names of matrices neither used nor dropped, including unmapped().
  std::vector<std::string> unused() const;

 private:
  using Slot = std::tuple<const arch::Tensor*, u64, arch::Side, std::size_t, std::size_t>;

  const HfModel& model_;
  const arch::Names& names_;
  std::map<Slot, PartMatrices> slots_;
  std::vector<std::string> unmapped_;
  std::vector<bool> used_;
  u64 layers_ = 0;
};

}  // namespace modelutils
