// The plan of a BUMPWGT3 file from a GGUF model: every entry with the recipe for its bytes, the tensors that do not
// fit in, and the config.json beside it. Used for conversion and for verify --against. Source: docs/formats/bump.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/rope.h"
#include "convert/to_bump/source.h"
#include "formats/bump/document.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"

namespace modelutils {

struct BumpEntry {
  bump::Entry entry;
  std::vector<BumpPart> parts;
  std::vector<std::string> sources;  ///< GGUF tensors used; empty for zeros
};

struct BumpMapping : BumpPlan {
  std::vector<BumpEntry> entries;  ///< in payload order; empty if there are refusals
  std::optional<LocatedTensor> token_embedding;
  /// output.weight, if it has the type and shape of the embedding. Nothing is lost if its bytes are equal too (see
  /// same_bytes()).
  std::optional<LocatedTensor> output;
  /// rope_freqs.weight. Nothing is lost if config.json can express it.
  std::optional<LocatedTensor> rope_freqs;
  bool has_qkv_bias = false;
  bool has_mlp_bias = false;
  bool has_experts = false;
  bool has_output = false;  ///< there is an output.weight of any type and shape
};

/// Plans the file from the headers alone. The set must be complete and without errors (rules/gguf/rules.h checks this),
/// and must outlive the plan's users. Everything that cannot be converted is in `refusals`. Errors: read errors.
Result<BumpMapping> map_gguf_to_bump(const gguf::SplitSet& set, const BumpRequest& request);

/// True if two tensors have equal bytes. Reads both (io/copy_range.h).
Result<bool> same_bytes(const gguf::SplitSet& set, const LocatedTensor& a, const LocatedTensor& b);

// config.json next to a BUMPWGT3 file. Source: docs/formats/bump.md, "config.json".

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
