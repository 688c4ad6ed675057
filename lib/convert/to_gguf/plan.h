// The plan of an MLX -> GGUF conversion: the GGUF model that it will be, with a recipe and a form for each tensor. It
// is made before any weights are read or written, and everything that can be refused is refused here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "convert/to_gguf/forms.h"
#include "convert/to_gguf/mlx_to_gguf.h"
#include "convert/to_gguf/tensor_map.h"
#include "convert/transfer/plan.h"
#include "model/hf_model.h"
#include "model/model.h"

namespace modelutils::to_gguf {

struct GgufPlan : Plan {
  std::unique_ptr<HfModel> model;
  TensorMap map;
  std::vector<GgufForm> forms;  ///< one per tensor of the map
  Model target;                 ///< `files`, opened: a tensor in its catalog for each of the map, with zeros for data
  TransferReport report;        ///< without measured errors
};

/// Plans the conversion. Errors: those of mlx_to_gguf() that need no output.
Result<GgufPlan> plan_gguf(const MlxToGgufOptions& options);

/// Plans what mlx2gguf would write for a directory with default options, but without a tokenizer: for its sizes and
/// types. Errors: those of plan_gguf().
Result<GgufPlan> plan_without_vocabulary(const std::string& directory);

/// Applies every rule to the target before anything is written. Error: "convert-self-check".
Status check_plan(const GgufPlan& plan, bool with_vocabulary);

}  // namespace modelutils::to_gguf
