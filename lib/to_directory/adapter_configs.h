// The adapter_config.json of PEFT and of mlx-lm.
#pragma once

#include <string>
#include <vector>

#include "adapter/pairs.h"
#include "to_directory/adapter_modules.h"

namespace modelutils::to_directory {

/// A module as it will be written.
struct PlannedModule {
  const AdapterModule* module = nullptr;
  u64 rank = 0;
  double scale = 1;

  /// The number that PEFT divides by the rank.
  double alpha() const { return scale * static_cast<double>(rank); }
};

struct AdapterConfigFacts {
  std::vector<PlannedModule> modules;  ///< at least one
  std::string base_model;              ///< may be empty
  std::vector<u64> invocation_tokens;  ///< of alora
  bool ties_head = false;              ///< the embedding's change is the tied head's as well

  u64 largest_rank() const;
  /// The scale that most modules have, which is the one number of mlx-lm.
  double common_scale() const;
};

/// lora_alpha and r are what most modules have; alpha_pattern and rank_pattern say the rest.
std::string peft_adapter_config(const AdapterConfigFacts& facts);
std::string mlx_adapter_config(const AdapterConfigFacts& facts, const adapter::Base& base);

}  // namespace modelutils::to_directory
