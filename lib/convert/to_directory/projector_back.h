// Converts a projector file back to the towers of a directory: tensors, and members of config.json and
// preprocessor_config.json, according to the rows in lib/arch/projectors. Reads only the header.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "convert/to_directory/tensor_map.h"
#include "formats/gguf/split_set.h"
#include "formats/hf/config_members.h"
#include "model/catalog.h"
#include "model/hf_model.h"

namespace modelutils {

/// The model to which the towers belong.
struct TextSide {
  const gguf::SplitSet& set;    ///< vocabulary that contains the image tokens
  std::string_view class_name;  ///< architectures[0] of the language model's config.json
  std::string_view model_type;  ///< its model_type
};

struct ProjectorBack {
  std::vector<DirectoryTensor> tensors;  ///< parts are indices into the projector's catalog
  std::vector<LeftOut> left_out;
  std::string class_name;  ///< architectures[0] of the whole model
  std::string model_type;
  std::string text_object;      ///< the member of config.json with the language model's settings
  std::string outer_object;     ///< the member that contains everything except the class; usually empty
  std::string text_model_type;  ///< model_type of the language model within the whole model; if empty, its own
  std::string text_prefix;      ///< in place of "model." in the language model's names; empty: unchanged
  hf::ConfigMembers config;     ///< vision_config and other members next to the language model's
  hf::ConfigMembers preprocessor;
  std::vector<std::string> assumed;
};

/// Maps every tensor of a projector file. `catalog` is catalog_of(set). Errors: "convert-projector" (no tower, or one
/// that cannot be converted back), "convert-missing", "convert-shape", "convert-unmapped", "config-key"; those of
/// reading.
Result<ProjectorBack> map_projector_back(const gguf::SplitSet& set, const Catalog& catalog, const TextSide& text,
                                         DirectoryStyle style);

/// Moves the language model's members into the whole model's config.
hf::ConfigMembers joined_config(const ProjectorBack& back, hf::ConfigMembers text);

/// Returns the name that a language model's tensor has in the whole model.
std::string name_in_model(const ProjectorBack& back, std::string name);

}  // namespace modelutils
