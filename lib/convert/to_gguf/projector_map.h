// Maps the vision and audio towers of a directory to the tensors and keys of a projector file, according to the rows in
// lib/arch/projectors. Reads headers, settings and, for families that use a token's embedding, the tokenizer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/projector_family.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "base/log.h"
#include "convert/to_gguf/tensor_map.h"
#include "formats/gguf/write.h"
#include "formats/hf/config.h"
#include "model/hf_model.h"
#include "tensor/types.h"

namespace modelutils {

/// A tower of a directory.
struct MappedTower {
  const arch::ProjectorFamily* family = nullptr;
  arch::Sizes sizes;
};

struct ProjectorMap {
  std::unique_ptr<HfModel> model;  ///< weights of the towers, with the names in the files
  hf::Config config;               ///< hf::load_projector_config()
  std::vector<MappedTower> towers;
  TensorMap map;                   ///< sizes are those of the first tower
  std::vector<gguf::OutKey> keys;  ///< "clip.…"
};

/// True if config.json describes a tower, or has a class with towers, and the directory has tensors that are not of a
/// language model. Text models that were made from others often keep class and description.
bool has_towers(const Model& model);

/// Maps the towers. `type` is the type for matrices: F32, F16, BF16 or Q8_0; by default every value stays exact.
/// Errors: "convert-projector" (no tower, an unknown one, or one whose prefix is unknown or ambiguous),
/// "convert-config" (a member that is missing or contradicts the tensors), "convert-missing", "convert-shape",
/// "convert-unmapped"; those of understand_part() and of reading.
Result<ProjectorMap> map_projector(std::shared_ptr<const Model> model, std::optional<TensorType> type);

/// Applies the rules of map_projector() to the towers of an opened directory: every fault is a finding with the code of
/// that error. A tower of an unknown type is a note. Empty for directories without towers.
FindingLog check_towers(const Model& opened);

}  // namespace modelutils
