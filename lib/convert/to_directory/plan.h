// The plan of a GGUF -> directory conversion: every file with its header, every tensor with its form and offset. It is
// made before any output is written, and everything that can be refused is refused here.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "convert/to_directory/encode.h"
#include "convert/to_directory/forms.h"
#include "convert/to_directory/gguf_to_mlx.h"
#include "convert/to_directory/tensor_map.h"
#include "convert/transfer/plan.h"
#include "convert/transfer/report.h"
#include "model/model.h"
#include "tokenizer/write/files_from_keys.h"

namespace modelutils::to_directory {

/// `files` are "model.safetensors" or "model-00001-of-00003.safetensors" and so on. `stream` has one entry per tensor
/// of the map, with the parts weight, scales, biases.
struct DirectoryPlan : Plan {
  bool is_file = false;  ///< the output is one safetensors file, not a directory
  Model source;          ///< a GGUF in which fused tensors are already split
  DirectoryMap map;
  std::vector<DirectoryForm> forms;                             ///< one per tensor of the map
  std::vector<std::pair<std::string, std::string>> side_files;  ///< names and contents of other files
  std::optional<tokenizer::RebuiltTokenizer> tokenizer;         ///< its files are written piece by piece
  TransferReport report;                                        ///< without measured errors
};

/// Plans the conversion. Errors: those of gguf_to_mlx() that need no output.
Result<DirectoryPlan> plan_directory(const GgufToMlxOptions& options);

/// True if gguf2mlx writes files of this name.
bool is_name_of_ours(std::string_view name);

}  // namespace modelutils::to_directory
