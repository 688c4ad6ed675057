// Writes adapter_config.json for PEFT and for mlx-lm.
#pragma once

#include <string>
#include <vector>

#include "adapter/pairs.h"
#include "to_directory/adapter_modules.h"

namespace modelutils::to_directory {

/// A module as planned for the output.
struct PlannedModule {
  const AdapterModule* module = nullptr;
  u64 rank = 0;
  double scale = 1;

  /// PEFT's alpha, which PEFT divides by the rank to get the scale.
  double alpha() const { return scale * static_cast<double>(rank); }
};

struct AdapterConfigFacts {
  std::vector<PlannedModule> modules;  ///< at least one
  std::string base_model;              ///< may be empty
  std::vector<u64> invocation_tokens;  ///< for aLoRA
  bool ties_head = false;              ///< the embedding's change also applies to the tied head

  u64 largest_rank() const;
  /// Returns the scale that most modules have. mlx-lm's config holds only one.
  double common_scale() const;
};

/// lora_alpha and r are the most common values; alpha_pattern and rank_pattern list the modules that differ.
std::string peft_adapter_config(const AdapterConfigFacts& facts);
std::string mlx_adapter_config(const AdapterConfigFacts& facts, const adapter::Base& base);

}  // namespace modelutils::to_directory
