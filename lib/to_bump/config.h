// config.json next to a BUMPWGT3 file. Source: docs/formats/bump.md, "config.json".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arch/rope_scaling.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"
#include "to_bump/mapping.h"

namespace modelutils {

/// Hugging Face's names for a GGUF architecture.
struct HfIdentity {
  std::string_view class_name;  ///< "LlamaForCausalLM"
  std::string_view model_type;  ///< "llama"
  std::string_view hidden_act;
};
/// Returns nullopt if no name is known.
std::optional<HfIdentity> hf_identity_of(std::string_view architecture, bool has_experts);

/// Returns the config.json parameters that reproduce rope_freqs.weight; nullopt if no parameters do. Errors: read
/// errors.
Result<std::optional<Llama3Rope>> read_rope_freqs(const gguf::SplitSet& set, const BumpMapping& mapping);

/// Adds a refusal for each hyper-parameter that config.json cannot express ("gguf2bump-architecture", "gguf2bump-key",
/// "gguf2bump-rope-scaling").
void check_bump_config(const BumpMapping& mapping, Refusals& refusals);

/// Returns the text of config.json. Precondition: check_bump_config() added no refusals.
std::string bump_config_text(const gguf::Index& index, const BumpMapping& mapping,
                             const std::optional<Llama3Rope>& rope);

}  // namespace modelutils
