// Opens whatever a path is.
#pragma once

#include <string>

#include "model/model_view.h"

namespace modelutils {

/// Opens a GGUF file (with all files of its split set), a safetensors file, an index, or a directory of safetensors
/// files with or without config.json. Reads headers only. Errors: those of opening and parsing (of a directory's
/// config.json too), and the first error of the container that was found, because a view is only given on what is
/// sound.
Result<ModelView> open_model(const std::string& path);

}  // namespace modelutils
