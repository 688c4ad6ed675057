// Plans which tensors of a checkpoint go into which safetensors file. Internal.
#pragma once

#include "model/model.h"
#include "safetensors/write.h"
#include "to_safetensors/checkpoint_to_safetensors.h"

namespace modelutils::to_safetensors {

struct PlannedCheckpointFile {
  std::string name;
  safetensors::OutLayout layout;
  std::vector<safetensors::TensorRef> tensors;  ///< tensors of the source, in the layout's order
};

struct CheckpointPlan {
  Model model;
  bool to_directory = false;
  std::vector<PlannedCheckpointFile> files;
  std::string index;                ///< contents of model.safetensors.index.json; empty for a single file
  std::vector<std::string> copied;  ///< base names of side files
  TransferReport report;

  const safetensors::ShardSet& set() const { return model.safetensors->set; }
};

/// Plans the conversion. Errors: those of checkpoint_to_safetensors() that need no output.
Result<CheckpointPlan> plan_checkpoint(const CheckpointOptions& options);

}  // namespace modelutils::to_safetensors
