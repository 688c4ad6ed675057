// config.json beside a BUMPWGT3 file. Source: docs/formats/bump.md, "config.json".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arch/rope_scaling.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"
#include "to_bump/mapping.h"

namespace modelutils {

/// How Hugging Face calls an architecture of GGUF.
struct HfIdentity {
  std::string_view class_name;  ///< "LlamaForCausalLM"
  std::string_view model_type;  ///< "llama"
  std::string_view hidden_act;
};
/// Nothing if we know no name for it.
std::optional<HfIdentity> hf_identity_of(std::string_view architecture, bool has_experts);

/// The parameters by which config.json says the content of rope_freqs.weight; nothing if it cannot. Errors: reading.
Result<std::optional<Llama3Rope>> read_rope_freqs(const gguf::SplitSet& set, const BumpMapping& mapping);

/// What keeps the hyper-parameters from being said in config.json goes to `refusals` ("gguf2bump-architecture",
/// "gguf2bump-key", "gguf2bump-rope-scaling").
void check_bump_config(const gguf::Index& index, const BumpMapping& mapping, Refusals& refusals);

/// The text of config.json. Precondition: check_bump_config() had no refusals.
std::string bump_config_text(const gguf::Index& index, const BumpMapping& mapping,
                             const std::optional<Llama3Rope>& rope);

}  // namespace modelutils
