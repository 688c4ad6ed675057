// What an adapter is, in any form: the pairs that it has, their ranks and by what they count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gguf/split_set.h"
#include "model/safetensors_model.h"

namespace modelutils {

/// A tensor or module of the base that an adapter changes.
struct AdapterTarget {
  std::string name;  ///< raw text: of the base's tensor in a GGUF, else of the module, as the training library calls it
  u64 rank = 0;
  double scale = 1;                       ///< of the product, with alpha, rank, rslora and patterns in it
  u64 columns = 0, rows = 0, slices = 1;  ///< of the matrix that is changed
};

struct AdapterFacts {
  std::string_view form;        ///< "gguf", "peft", "mlx"
  std::optional<double> alpha;  ///< as stated: one number of the file
  std::vector<AdapterTarget> targets;
  u64 others = 0;  ///< tensors that are no pairs: magnitudes, whole tensors
};

/// Nothing if the file is not a LoRA adapter.
std::optional<AdapterFacts> adapter_facts(const gguf::SplitSet& set);
/// Nothing if the directory is not a LoRA adapter that can be read.
std::optional<AdapterFacts> adapter_facts(const SafetensorsModel& model);

/// A few words each: "LoRA adapter", "rank 8", "alpha 16", "scale 2", "2 matrices".
std::vector<std::string> adapter_words(const AdapterFacts& facts);

}  // namespace modelutils
