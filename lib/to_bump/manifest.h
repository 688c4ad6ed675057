// gguf2bump's descriptions of a file: the manifest next to it, the JSON report, and the text for users.
#pragma once

#include <string>
#include <vector>

#include "to_bump/gguf_to_bump.h"

namespace modelutils {

/// Returns the JSON of --manifest (docs/json.md, "bump-manifest/1"). `entry_sha256` has one hash per entry.
std::string bump_manifest_text(const GgufToBumpReport& report, const std::vector<std::string>& entry_sha256);

/// Returns the JSON of --report json, one line (docs/json.md, "gguf2bump/1").
std::string gguf_to_bump_json(const GgufToBumpReport& report);

/// Returns the plan of a dry run as text of several lines.
std::string gguf_to_bump_plan_text(const GgufToBumpReport& report);

/// Returns a summary of the conversion in several short lines, escaped.
std::string gguf_to_bump_summary(const GgufToBumpReport& report);

}  // namespace modelutils
