// What the recognisers of foreign forms share. Internal to lib/forms.
#pragma once

#include <string>
#include <string_view>

#include "forms/foreign_forms.h"

namespace modelutils::foreign {

bool is_float(std::optional<TensorType> type);

struct Recognition {
  std::span<const mlx::TensorRef> tensors;
  TensorFinder& finder;
  const ForeignMethod& method;
  Module& module;
  FindingLog& findings;

  /// Plane 1, which must be a type of floats: a finding otherwise.
  bool take_scale(std::size_t place, std::string_view suffix);
  /// The finding about a tensor of a wrong shape.
  void misfit(std::string_view suffix, std::size_t place);
  /// The finding about settings that the tensors rule out.
  void contradict(std::string message);
  /// False, with a finding, if rows of `columns` in `groups` are in groups of no stated size. Settings of other widths
  /// do not count.
  bool has_stated_groups(u64 bits, u64 columns, u64 groups);
  /// False, with a finding, if the settings say that weights of this width have zero points, and this one has none.
  bool may_lack_zeros(u64 bits);
};

/// True if rows of `columns` in `groups` are in groups of a size that the settings state for weights of this width, or
/// if they state none.
bool has_stated_groups(const ForeignMethod& method, u64 bits, u64 columns, u64 groups);

// Each says whether the module has its form, whatever is wrong with it.
bool recognise_gptq_or_awq(Recognition& of);  ///< "P.qweight" with qzeros and scales
bool recognise_packed(Recognition& of);       ///< "P.weight_packed" I32 of compressed-tensors
bool recognise_int8(Recognition& of);         ///< "P.weight" I8 with a scale for each row

}  // namespace modelutils::foreign
