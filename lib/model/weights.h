// Weights that consist of several stored tensors, with the facts needed to decode them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "forms/modules.h"
#include "model/catalog.h"
#include "model/safetensors_model.h"

namespace modelutils {

/// A module whose values can be decoded. Its form is settled, and its planes are indexes into Catalog::tensors.
struct Weight : Module {
  std::vector<u64> ne;  ///< the logical shape, contiguous dimension first
};

struct Weights {
  std::vector<Weight> list;  ///< in the order of their codes
  std::vector<bool>
      parts;  ///< by index into Catalog::tensors: true for scales, biases and other parts of another tensor's weight
  std::optional<Error> broken;  ///< the first error while settling forms

  /// Returns the weight whose codes are in that tensor; nullptr if there is none.
  const Weight* of_codes(std::size_t place) const;
  bool is_part(std::size_t place) const { return place < parts.size() && parts[place]; }
};

/// Settles the forms of the model's modules, which reads small tensors (row order, zero points). Omits modules that
/// cannot be decoded or read. `catalog` is the catalog of the model's set.
Weights settled_weights(const SafetensorsModel& model, const Catalog& catalog);

}  // namespace modelutils
