// The coverage of an importance matrix, and the matrices that its calibration text never used. For GGUF files and the
// format before GGUF.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gguf/split_set.h"
#include "quantize/importance.h"

namespace modelutils {

/// The first and last covered layer of a model.
struct CoveredLayers {
  u64 first = 0;
  u64 last = 0;
  /// Tensors that these layers lack although most layers between first and last have them: "blk.3.ffn_up.weight".
  std::vector<std::string> missing;
};

struct ImportanceFacts {
  std::shared_ptr<const quantize::ImportanceMatrix> matrix;
  std::optional<CoveredLayers> layers;  ///< nullopt if no name begins with "blk.N."
  u64 matrices = 0;                     ///< over all entries; each expert of a stack with its own count is one matrix
  u64 never_used = 0;                   ///< how many of these were never used
  u64 tensors_never_used = 0;           ///< entries with an unused matrix
};

ImportanceFacts importance_facts(std::shared_ptr<const quantize::ImportanceMatrix> matrix);
/// Returns the facts for a GGUF file if it is a readable importance matrix: its header came from a file, not a pipe,
/// and breaks no rule. Otherwise returns nullopt.
std::optional<ImportanceFacts> importance_facts(const gguf::SplitSet& set);

}  // namespace modelutils
