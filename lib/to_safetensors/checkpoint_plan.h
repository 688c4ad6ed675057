// Which tensors of a checkpoint go where in which safetensors file. Internal.
#pragma once

#include "model/model.h"
#include "safetensors/write.h"
#include "to_safetensors/checkpoint_to_safetensors.h"

namespace modelutils::to_safetensors {

struct PlannedCheckpointFile {
  std::string name;
  safetensors::OutLayout layout;
  std::vector<safetensors::TensorRef> tensors;  ///< of the source, in the order of the layout
};

struct CheckpointPlan {
  Model model;
  bool to_directory = false;
  std::vector<PlannedCheckpointFile> files;
  std::string index;                ///< text of model.safetensors.index.json; empty for one file
  std::vector<std::string> copied;  ///< base names of files beside the weights
  CheckpointReport report;

  const safetensors::ShardSet& set() const { return model.safetensors->set; }
};

Result<CheckpointPlan> plan_checkpoint(const CheckpointOptions& options);

}  // namespace modelutils::to_safetensors
