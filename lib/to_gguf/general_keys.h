// Builds the general.* keys: name, origin and sampling defaults. Source: docs/conversion.md ("Names").
#pragma once

#include <string>
#include <vector>

#include "adapter/merge.h"
#include "gguf/write.h"
#include "hf/config.h"
#include "hf/generation_config.h"
#include "hf/model_card.h"
#include "tensor/types.h"

namespace modelutils::to_gguf {

/// The model's name and its components. Unknown components are empty.
struct Identity {
  std::string name, organization, basename, finetune, version, size_label;
};

/// Finds the model's name. Components come from the model card; then, if `directory` is in the Hugging Face cache, from
/// its repository's name, otherwise from `_name_or_path` in config.json and then from the directory's name.
/// `parameters` is the model's parameter count; it tells size labels from context lengths.
Identity find_identity(const hf::ModelCard& card, const hf::Config& config, const std::string& directory,
                       u64 parameters);

struct GeneralFacts {
  std::string architecture;
  Identity identity;
  hf::Sampling sampling;
  u64 parameters = 0;         ///< elements of all tensors
  u64 expert_parameters = 0;  ///< elements of the stacked expert tensors
  u64 n_expert = 0;
  u32 file_type = 0;
};
/// Returns general.architecture (first), type, sampling.*, name, organization, basename, finetune, version, size_label,
/// file_type and quantization_version.
std::vector<gguf::OutKey> general_keys(const GeneralFacts& facts);

/// Returns general.lora.count, and general.lora.N.name and .scale for each merged adapter in order. Returns no keys if
/// `adapters` is empty.
std::vector<gguf::OutKey> adapter_keys(const std::vector<adapter::Wanted>& adapters);

/// Returns a size label such as "7.2B", "494M" or "8x7B".
std::string size_label(u64 parameters, u64 expert_parameters, u64 n_expert);

/// Returns the llama_ftype number for a model whose weights are mostly `type`.
u32 file_type_code(TensorType type);

/// Returns general.author, description, license*, base_model.*, dataset.*, tags, languages and datasets, but no empty
/// arrays. find_identity() handles the rest of the card.
std::vector<gguf::OutKey> model_card_keys(const hf::ModelCard& card);

}  // namespace modelutils::to_gguf
