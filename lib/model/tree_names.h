// What the name of a file says about it in a tree of models. Internal.
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
  unfinished,  ///< a download that has not come to its end
  other,       ///< text, pictures, programs: never a model
  unknown      ///< the first bytes tell
};

NameClass class_of_name(std::string_view base_name);

/// Folders that hold no models, whatever is in them: version control, bookkeeping of download caches.
bool is_bookkeeping_folder(std::string_view base_name);

}  // namespace modelutils
