// The plan of a GGUF -> directory conversion: every file with its header, every tensor with its form and place. Made
// before a byte of the output is written; everything that can be refused is refused here.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gguf/split_set.h"
#include "model/tensor_catalog.h"
#include "safetensors/write.h"
#include "to_directory/encode.h"
#include "to_directory/forms.h"
#include "to_directory/gguf_to_mlx.h"
#include "to_directory/tensor_map.h"
#include "tokenizer/write/files_from_keys.h"
#include "transfer/report.h"
#include "transfer/stream.h"

namespace modelutils::to_directory {

struct PlannedShard {
  std::string name;  ///< "model.safetensors", "model-00001-of-00003.safetensors"
  safetensors::OutLayout layout;
};

struct DirectoryPlan {
  gguf::SplitSet set;
  Catalog catalog;
  DirectoryMap map;
  std::vector<DirectoryForm> forms;  ///< one for each tensor of the map
  std::vector<StreamTensor> stream;  ///< the same: weight, scales, biases
  std::vector<PlannedShard> shards;
  std::vector<std::pair<std::string, std::string>> side_files;  ///< name and content of the others
  std::optional<tokenizer::RebuiltTokenizer> tokenizer;         ///< whose files are written piece by piece
  TransferReport report;

  u64 total_bytes() const;
};

Result<DirectoryPlan> plan_directory(const GgufToMlxOptions& options);

/// Is it a name of a file that gguf2mlx writes?
bool is_name_of_ours(std::string_view name);

}  // namespace modelutils::to_directory
