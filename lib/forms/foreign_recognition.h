// What the recognisers of foreign forms share. Internal to lib/forms.
#pragma once

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
};

// Each says whether the module has its form, whatever is wrong with it.
bool recognise_gptq_or_awq(Recognition& of);  ///< "P.qweight" with qzeros and scales
bool recognise_packed(Recognition& of);       ///< "P.weight_packed" I32 of compressed-tensors
bool recognise_int8(Recognition& of);         ///< "P.weight" I8 with a scale for each row

}  // namespace modelutils::foreign
