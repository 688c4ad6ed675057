// Which layers of a vision tower feed which layers of the text model, for models whose text model receives image
// features in several layers, each through a projector of its own (Granite 4 Vision).
#pragma once

#include <vector>

#include "base/types.h"

namespace modelutils::hf {
struct Config;
}

namespace modelutils::arch {

/// A projector: the layer of the tower that it reads, the layer of the text model that it feeds, and its number among
/// those of its kind.
struct VisionLink {
  u64 vision = 0;
  u64 text = 0;
  u64 number = 0;
  bool is_spatial = false;  ///< of spatial_target_layers, otherwise of deepstack_layer_map
};

/// Returns the projectors in the order of the GGUF: by layer of the text model. Empty if config.json names none, or not
/// in the expected form.
std::vector<VisionLink> vision_links(const hf::Config& config);

/// Returns for each layer of the text model the number of its projector; -1 for layers without a projector, and for the
/// layer of the first projector, whose features replace the image's tokens. Empty without projectors.
std::vector<i32> projectors_of_layers(const hf::Config& config, u64 layers);

}  // namespace modelutils::arch
