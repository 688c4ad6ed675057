// The files that gguf2bump writes, and its descriptions of them: the manifest, the JSON report, and the text for
// users.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "convert/to_bump/gguf_to_bump.h"

namespace modelutils {

/// Returns the JSON of --manifest (docs/json.md, "bump-manifest/1"). `entry_sha256` has one hash per entry.
std::string bump_manifest_text(const GgufToBumpReport& report, const std::vector<std::string>& entry_sha256);

/// Returns the JSON of --report json, one line (docs/json.md, "gguf2bump/1").
std::string gguf_to_bump_json(const GgufToBumpReport& report);

/// Returns the plan of a dry run as text of several lines.
std::string gguf_to_bump_plan_text(const GgufToBumpReport& report);

/// Returns a summary of the conversion in several short lines, escaped.
std::string gguf_to_bump_summary(const GgufToBumpReport& report);

// Chooses the files that gguf2bump writes.

/// Returns the paths for these options: the given ones, plus config.json next to the weights; for BUMPWGT5 also
/// weights_manifest.json, and the map next to the manifest. For BUMPWGT5 `output` may be a folder, which gets
/// weights.bump. Errors (kind usage): an option that the version does not support, two outputs with the same name, a
/// number out of range, no location for a required file.
Result<BumpOutputPaths> choose_bump_outputs(const GgufToBumpOptions& options);

}  // namespace modelutils
