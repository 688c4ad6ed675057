// Derives config.json and generation_config.json from a GGUF's keys and tensors, with `quantization` and `torch_dtype`
// from the tensors' forms, and the tensors' names in either style. Members that no key implies get the defaults listed
// in docs/conversion.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "arch/loader_forms.h"
#include "arch/names.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "base/types.h"
#include "convert/to_directory/forms.h"
#include "convert/to_directory/tensor_map.h"
#include "formats/gguf/split_set.h"
#include "formats/hf/config_members.h"

namespace modelutils {

// Builds the names of a directory's tensors in either style.
class PublishedNames {
 public:
  /// `family` must outlive it.
  PublishedNames(const arch::Family& family, DirectoryStyle style) : family_(&family), style_(style) {}

  /// Returns the name of a row's module in a layer, such as "model.layers.3.mlp.gate".
  std::string in_layer(const arch::Tensor& row, u64 layer, std::string_view module) const;
  /// Returns the name of the source tensor for one part of a row. `number` is the expert, if each expert has its own
  /// tensor.
  std::string of_part(const arch::ExpectedTensor& expected, const arch::SourcePart& part, u64 number) const;
  /// Returns the full name. In a multimodal class it includes the language model's prefix.
  std::string published(std::string name) const;

 private:
  const arch::Family* family_;
  DirectoryStyle style_;
};

}  // namespace modelutils

namespace modelutils::to_directory {

// Derives config.json's `quantization` and `torch_dtype` from the forms of a directory's tensors.

/// Returns the members of `quantization`: the parameters of most weights, and each module that differs. Returns nullopt
/// if no tensor is packed.
std::optional<hf::ConfigMembers> quantization_members(const DirectoryMap& map, const std::vector<DirectoryForm>& forms);

/// Returns `torch_dtype`: the type of most plain values, or of most scales if all tensors are packed.
std::string_view torch_dtype(const DirectoryMap& map, const std::vector<DirectoryForm>& forms);

}  // namespace modelutils::to_directory

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
