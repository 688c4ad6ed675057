// Which files gguf2bump writes, and where.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/error.h"
#include "to_bump/gguf_to_bump.h"

namespace modelutils {

/// The paths that the options ask for: those given, and next to the weights config.json, for BUMPWGT5 also
/// weights_manifest.json; the map next to the manifest. `output` may name a folder for BUMPWGT5: its weights.bump.
/// Errors (kind usage): an option that the version does not have, two outputs of one name, a number out of range, no
/// place for a file that is needed.
Result<BumpOutputPaths> choose_bump_outputs(const GgufToBumpOptions& options);

}  // namespace modelutils
