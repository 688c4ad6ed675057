// Image and video models, whose GGUFs (ComfyUI's) have other rules than those of language models.
#pragma once

#include <string_view>

#include "base/error.h"
#include "gguf/split_set.h"

namespace modelutils::arch {

/// The name of the image model that a GGUF holds ("flux"), by its tensors, else by `general.architecture`. Empty for
/// other files.
std::string_view image_model_of(const gguf::SplitSet& set);

/// Error "convert-image-model" for such a file: what the rules of language models would do to it breaks it.
Status refuse_image_model(const gguf::SplitSet& set);

}  // namespace modelutils::arch
