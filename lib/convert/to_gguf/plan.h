// The plan of an MLX -> GGUF conversion: every output file with its header, every tensor with its type and offset. It
// is made before any weights are read or written, and everything that can be refused is refused here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "convert/to_gguf/forms.h"
#include "convert/to_gguf/mlx_to_gguf.h"
#include "convert/to_gguf/tensor_map.h"
#include "convert/transfer/stream.h"
#include "formats/gguf/split_set.h"
#include "formats/gguf/write.h"
#include "model/hf_model.h"

namespace modelutils::to_gguf {

struct PlannedFile {
  std::string path;
  gguf::OutLayout layout;
};

struct GgufPlan {
  std::unique_ptr<HfModel> model;
  TensorMap map;
  std::vector<GgufForm> forms;  ///< one per tensor of the map
  std::vector<PlannedFile> files;
  std::vector<StreamTensor> stream;  ///< one per tensor of the map
  TransferReport report;             ///< without measured errors

  u64 total_bytes() const;
};

/// Plans the conversion. Errors: those of mlx_to_gguf() that need no output.
Result<GgufPlan> plan_gguf(const MlxToGgufOptions& options);

/// Returns the GGUF that mlx2gguf would write for a directory with default options, without a tokenizer: keys and
/// tensor infos, no data. Errors: those of plan_gguf().
Result<gguf::SplitSet> planned_model(const std::string& directory);

}  // namespace modelutils::to_gguf
