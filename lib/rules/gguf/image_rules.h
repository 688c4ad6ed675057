// Rules for image and video models (ComfyUI's GGUFs), whose readers differ from those of language models.
#pragma once

#include "base/log.h"
#include "formats/gguf/split_set.h"

namespace modelutils {

/// Checks what ComfyUI-GGUF, stable-diffusion.cpp and diffusers need. Returns no findings for other models. Findings of
/// scope model. Codes: "gguf-five-dims" (a note, or a warning), "gguf-image-architecture", "gguf-image-parameter",
/// "gguf-image-scales" (a warning), "gguf-image-shape".
FindingLog image_findings(const gguf::SplitSet& set);

/// Returns the first error after which a conversion would read wrong shapes; nullptr if there is none. The other errors
/// are about what ComfyUI loads, and a conversion may repair them.
const Finding* first_image_error(const Findings& findings);

}  // namespace modelutils
