// What an importance matrix covers, and what its text never used: of GGUF files and of the format before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gguf/split_set.h"
#include "quantize/importance.h"

namespace modelutils {

/// The first and the last of a model's layers.
struct CoveredLayers {
  u64 first = 0;
  u64 last = 0;
  /// Tensors that other layers between these have, but not all: "blk.3.ffn_up.weight".
  std::vector<std::string> missing;
};

struct ImportanceFacts {
  std::shared_ptr<const quantize::ImportanceMatrix> matrix;
  std::optional<CoveredLayers> layers;  ///< nothing without blk.N. names
  u64 matrices = 0;                     ///< of all entries: each expert of a stack is one, where it has its count
  u64 never_used = 0;                   ///< of those
  u64 tensors_never_used = 0;           ///< entries with such a matrix
};

ImportanceFacts importance_facts(std::shared_ptr<const quantize::ImportanceMatrix> matrix);
/// The same of a GGUF file, if it is an importance matrix that can be read: its header came from a file, not a pipe,
/// and breaks no rule.
std::optional<ImportanceFacts> importance_facts(const gguf::SplitSet& set);

}  // namespace modelutils
