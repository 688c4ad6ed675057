// Facts about an adapter in any form: its pairs, their ranks and scales.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gguf/split_set.h"
#include "model/safetensors_model.h"

namespace modelutils {

/// A tensor or module of the base that an adapter changes.
struct AdapterTarget {
  std::string name;  ///< raw text: the base's tensor name in a GGUF, otherwise the module name in the training library
  u64 rank = 0;
  double scale = 1;                       ///< factor of the product; includes alpha, rank, rslora and patterns
  u64 columns = 0, rows = 0, slices = 1;  ///< of the adapted matrix
};

struct AdapterFacts {
  std::string_view form;        ///< "gguf", "peft", "mlx"
  std::optional<double> alpha;  ///< as stated; set if the file has a single number
  std::vector<AdapterTarget> targets;
  u64 others = 0;  ///< tensors outside pairs: magnitudes, whole tensors
};

/// Returns nullopt if the file is not a LoRA adapter.
std::optional<AdapterFacts> adapter_facts(const gguf::SplitSet& set);
/// Returns nullopt if the directory is not a readable LoRA adapter.
std::optional<AdapterFacts> adapter_facts(const SafetensorsModel& model);

/// Returns facts of a few words each: "LoRA adapter", "rank 8", "alpha 16", "scale 2", "2 matrices".
std::vector<std::string> adapter_words(const AdapterFacts& facts);

}  // namespace modelutils
