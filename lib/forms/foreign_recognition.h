// Shared parts of the recognisers of foreign forms. Internal to lib/forms.
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

  /// Sets plane 1. Returns false, after a finding, if it is not a floating-point type.
  bool take_scale(std::size_t place, std::string_view suffix);
  /// Reports a tensor of wrong shape.
  void misfit(std::string_view suffix, std::size_t place);
  /// Reports settings that contradict the tensors.
  void contradict(std::string message);
  /// Returns false, after a finding, if rows of `columns` in `groups` groups match no stated group size. Ignores
  /// settings for other widths.
  bool has_stated_groups(u64 bits, u64 columns, u64 groups);
  /// Returns false, after a finding, if the settings require zero points for this width and the module has none.
  bool may_lack_zeros(u64 bits);
};

/// True if rows of `columns` in `groups` groups match a group size stated for weights of this width, or if none is
/// stated.
bool has_stated_groups(const ForeignMethod& method, u64 bits, u64 columns, u64 groups);

// Each returns true if the module has its form, even if it is invalid.
bool recognise_gptq_or_awq(Recognition& of);  ///< "P.qweight" with qzeros and scales
bool recognise_packed(Recognition& of);       ///< "P.weight_packed" of I32, from compressed-tensors
bool recognise_int8(Recognition& of);         ///< "P.weight" of I8 with a scale per row

}  // namespace modelutils::foreign
