// config.json and shapes -> <architecture>.* keys with the exact types that the loader demands. Source:
// docs/conversion.md ("Keys").
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/write.h"
#include "model/hf_model.h"
#include "model/hf_tensor_map.h"

namespace modelutils::convert {

struct ModelKeys {
  std::vector<gguf::OutKey> keys;
  Findings remarks;  ///< warnings and notes: what GGUF cannot say, what was assumed
};

/// The <architecture>.* keys. Errors: "convert-config" (a value that is needed and missing, or that no runtime can
/// honour).
Result<ModelKeys> hyper_parameter_keys(const HfModel& model, const HyperParameters& parameters);

}  // namespace modelutils::convert
