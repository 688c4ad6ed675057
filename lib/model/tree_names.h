// Classifies files in a tree of models by their names. Internal.
#pragma once

#include <string_view>

#include "base/types.h"

namespace modelutils {

enum class NameClass : u8 {
  gguf,
  safetensors,
  index,       ///< of safetensors shards
  checkpoint,  ///< pytorch_model*.bin
  bump,
  config,      ///< config.json
  unfinished,  ///< an incomplete download
  other,       ///< text, pictures, programs: never a model
  unknown      ///< the first bytes decide
};

/// Classifies a file by its base name.
NameClass class_of_name(std::string_view base_name);

/// True for folders whose content is never a model: version control, bookkeeping of download caches.
bool is_bookkeeping_folder(std::string_view base_name);

}  // namespace modelutils
