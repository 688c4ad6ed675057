// Rope scaling as a GGUF model's keys say it (the llama3 form has none: it is a tensor).
#pragma once

#include <optional>
#include <string>

#include "gguf/keys.h"

namespace modelutils {

struct RopeScalingKeys {
  std::string type;              ///< as in the file; empty for none, and for linear by 1
  std::optional<double> factor;  ///< rope.scaling.factor, in some old files rope.scale_linear
};

RopeScalingKeys rope_scaling_keys(const gguf::Index& index);

}  // namespace modelutils
