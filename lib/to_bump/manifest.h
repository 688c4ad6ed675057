// What gguf2bump tells about a file: the manifest beside it, the report for scripts, the words for people.
#pragma once

#include <string>
#include <vector>

#include "to_bump/gguf_to_bump.h"

namespace modelutils {

/// The JSON of --manifest (docs/json.md, "bump-manifest/1"). `entry_sha256`: one for each entry.
std::string bump_manifest_text(const GgufToBumpReport& report, const std::vector<std::string>& entry_sha256);

/// The JSON of --report json, one line (docs/json.md, "gguf2bump/1").
std::string gguf_to_bump_json(const GgufToBumpReport& report);

/// The plan of a dry run for people: several lines.
std::string gguf_to_bump_plan_text(const GgufToBumpReport& report);

/// What was done, for people: several short lines (escaped).
std::string gguf_to_bump_summary(const GgufToBumpReport& report);

}  // namespace modelutils
