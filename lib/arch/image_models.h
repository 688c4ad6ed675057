// Recognises image and video models, whose GGUFs (ComfyUI's) follow other rules than language models.
#pragma once

#include <string_view>

#include "base/error.h"
#include "gguf/split_set.h"

namespace modelutils::arch {

/// Returns the name of the image model in a GGUF ("flux"), from its tensors or else from `general.architecture`. Empty
/// for other files.
std::string_view image_model_of(const gguf::SplitSet& set);

/// Returns error "convert-image-model" for such a file, since the rules for language models would break it.
Status refuse_image_model(const gguf::SplitSet& set);

}  // namespace modelutils::arch
