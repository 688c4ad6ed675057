// config.json and generation_config.json of a GGUF: its keys and tensors in the words of the model's class. What no key
// says has the default that docs/conversion.md lists.
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
  /// --model-type: a model type of the family, or of another family with the same general.architecture ("mistral" for
  /// "llama"). Empty: the family's own.
  std::string model_type = {};
  /// Is the output head the embedding? The converter knows it of an output.weight whose bytes are those of
  /// token_embd.weight; without a value it is if there is no output.weight.
  std::optional<bool> is_tied = {};
};

struct HfConfig {
  const arch::Family* family = nullptr;
  arch::Sizes sizes;       ///< of the family, as its keys say them, without layers that predict further tokens
  std::string class_name;  ///< architectures[0]
  std::string model_type;  ///< of the outermost object
  /// config.json in the order in which it is to be written, without torch_dtype and quantization. The members of a
  /// multimodal class are in text_config.
  hf::ConfigMembers config;
  hf::ConfigMembers generation;      ///< generation_config.json
  std::vector<std::string> assumed;  ///< members of which the GGUF says nothing: they have the default
};

/// Errors: "config-architecture" (no family has this general.architecture; or what has one is not a language model: an
/// adapter, an image encoder, an importance matrix), "usage" (--model-type names none that the file can be),
/// "loader-key" (a key that the loader needs, too), "config-key", "config-tensor", "config-rope" (what config.json
/// cannot say), those of reading. Never a config that means another model.
Result<HfConfig> hf_config_from_keys(const gguf::SplitSet& set, const HfConfigOptions& options);

/// The ids of the tokens that end generation: eos, eot and eom, and control tokens with the usual texts of an end of
/// turn, those below `vocabulary`, each once, the eos first. Errors: reading.
Result<std::vector<u64>> end_of_generation_ids(const gguf::SplitSet& set, u64 vocabulary);

}  // namespace modelutils
