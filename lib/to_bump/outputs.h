// Chooses the files that gguf2bump writes.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/error.h"
#include "to_bump/gguf_to_bump.h"

namespace modelutils {

/// Returns the paths for these options: the given ones, plus config.json next to the weights; for BUMPWGT5 also
/// weights_manifest.json, and the map next to the manifest. For BUMPWGT5 `output` may be a folder, which gets
/// weights.bump. Errors (kind usage): an option that the version does not support, two outputs with the same name, a
/// number out of range, no location for a required file.
Result<BumpOutputPaths> choose_bump_outputs(const GgufToBumpOptions& options);

}  // namespace modelutils
