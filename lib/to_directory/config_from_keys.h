// Derives config.json and generation_config.json from a GGUF's keys and tensors. Members that no key implies get the
// defaults listed in docs/conversion.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "gguf/split_set.h"
#include "hf/config_members.h"

namespace modelutils {

struct HfConfigOptions {
  /// --model-type: a model type of this family, or of another family with the same general.architecture ("mistral" for
  /// "llama"). If empty, uses the family's own.
  std::string model_type = {};
  /// True if the output head is the embedding. The converter passes true if output.weight has the same bytes as
  /// token_embd.weight. If unset, the head is tied when there is no output.weight.
  std::optional<bool> is_tied = {};
};

struct HfConfig {
  const arch::Family* family = nullptr;
  arch::Sizes sizes;       ///< from the keys, without layers that predict further tokens
  std::string class_name;  ///< architectures[0]
  std::string model_type;  ///< of the outermost object
  /// The members of config.json in output order, without torch_dtype and quantization. For a multimodal class the
  /// language model's members are in text_config.
  hf::ConfigMembers config;
  hf::ConfigMembers generation;      ///< generation_config.json
  std::vector<std::string> assumed;  ///< members that the GGUF does not determine; they have their defaults
};

/// Derives the config, or fails rather than returning one that describes another model. Errors: "config-architecture"
/// (no family has this general.architecture, or the file is an adapter, an image encoder or an importance matrix),
/// "usage" (--model-type does not fit the file), "loader-key" (a key that the loader needs is missing too),
/// "config-key", "config-tensor", "config-rope" (config.json cannot express it), those of reading.
Result<HfConfig> hf_config_from_keys(const gguf::SplitSet& set, const HfConfigOptions& options);

/// Returns the ids below `vocabulary` of tokens that end generation, eos first, without repeats: eos, eot, eom, and
/// control tokens whose text is a usual end-of-turn marker. Errors: those of reading.
Result<std::vector<u64>> end_of_generation_ids(const gguf::SplitSet& set, u64 vocabulary);

}  // namespace modelutils
