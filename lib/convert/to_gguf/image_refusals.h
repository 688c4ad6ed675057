// Refuses image models whose weights are quantised by methods that nothing here decodes.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/catalog.h"

namespace modelutils::to_gguf {

/// Error "convert-image-model": a tensor below `prefix` belongs to a packed method (bitsandbytes, SVDQuant, NVFP4, or a
/// format that ComfyUI's settings state). `path` is for the message. Also read errors.
Status refuse_foreign_weights(const Catalog& catalog, std::string_view prefix, const std::string& path);

}  // namespace modelutils::to_gguf
