// The tensors of a directory sorted under the rows of their family: what map_tensors() puts together.
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

/// Matrices that serve one part of one alternative: one, or one for each expert.
using PartMatrices = std::map<u64, std::size_t>;  // expert number (0 if unstacked) -> index into HfModel::matrices

class HfSources {
 public:
  HfSources(const HfModel& model, const arch::Names& names) : model_(model), names_(names) {}

  /// Sorts all matrices. Errors: "convert-experts" (an expert twice).
  Status collect();

  /// Layers that the names show: highest number + 1.
  u64 layers() const { return layers_; }
  /// Names that no row has, as they are in the directory.
  const std::vector<std::string>& unmapped() const { return unmapped_; }

  /// What the shapes say about sizes, for arch::solve_sizes(): those of layers below `end`.
  std::vector<arch::ShapeFact> shape_facts(u64 end = arch::max_layers) const;

  /// Matrices of each part of an alternative; empty if one has none.
  std::vector<const PartMatrices*> parts(const arch::Tensor& row, u64 layer, arch::Side side,
                                         std::size_t alternative) const;

  /// Marks what a tensor was made of; the rest is found by unused().
  void use(const std::vector<const PartMatrices*>& parts);
  /// Takes a matrix out: it is left out on purpose.
  void drop(std::size_t matrix) { used_[matrix] = true; }
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
