// The general.* keys of a converted model. Source: docs/conversion.md ("Keys").
#pragma once

#include <string>
#include <vector>

#include "base/types.h"
#include "gguf/write.h"
#include "tensor/types.h"

namespace modelutils::convert {

/// What general.* says beside the model card.
struct GeneralFacts {
  std::string architecture;
  std::string name;           ///< may be empty
  u64 parameters = 0;         ///< logical elements of all tensors
  u64 expert_parameters = 0;  ///< those of stacked expert tensors among them
  u64 n_expert = 0;
  u32 file_type = 0;
  bool has_quantized = false;
};
/// general.architecture (first), type, name, size_label, file_type, quantization_version.
std::vector<gguf::OutKey> general_keys(const GeneralFacts& facts);

/// "7.2B", "494M", "8x7B": the size label of a model of so many parameters.
std::string size_label(u64 parameters, u64 expert_parameters, u64 n_expert);

/// A model name from a directory's name: its last component without endings that only name a packing ("-4bit", "-mlx").
std::string name_from_directory(const std::string& directory);

/// llama_ftype number for the type that most weights have.
u32 file_type_code(TensorType type);

}  // namespace modelutils::convert
