// general.* keys: what a model is called, where it comes from and how it wants to be sampled. Source:
// docs/conversion.md
// ("Names").
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

/// What the model is called. Empty where nothing tells.
struct Identity {
  std::string name, organization, basename, finetune, version, size_label;
};

/// From the model card; what that does not say from the repository of the Hugging Face cache that `directory` belongs
/// to or, outside of the cache, from config.json's `_name_or_path` and then from the directory's own name.
/// `parameters`: of the model, to tell sizes from context lengths.
Identity find_identity(const hf::ModelCard& card, const hf::Config& config, const std::string& directory,
                       u64 parameters);

struct GeneralFacts {
  std::string architecture;
  Identity identity;
  hf::Sampling sampling;
  u64 parameters = 0;         ///< logical elements of all tensors
  u64 expert_parameters = 0;  ///< those of stacked expert tensors among them
  u64 n_expert = 0;
  u32 file_type = 0;
};
/// general.architecture (first), type, sampling.*, name, organization, basename, finetune, version, size_label,
/// file_type, quantization_version.
std::vector<gguf::OutKey> general_keys(const GeneralFacts& facts);

/// general.lora.count, and of each adapter that was merged, in order, general.lora.N.name and .scale; nothing without
/// any.
std::vector<gguf::OutKey> adapter_keys(const std::vector<adapter::Wanted>& adapters);

/// "7.2B", "494M", "8x7B": the size label of a model of so many parameters.
std::string size_label(u64 parameters, u64 expert_parameters, u64 n_expert);

/// llama_ftype number for the type that most weights have.
u32 file_type_code(TensorType type);

/// general.author, description, license*, base_model.*, dataset.*, tags, languages, datasets; never an empty array. The
/// rest of the card is part of find_identity().
std::vector<gguf::OutKey> model_card_keys(const hf::ModelCard& card);

}  // namespace modelutils::to_gguf
