// The report of pt2st, for scripts (pt2st/1, docs/json.md) and for people.
#pragma once

#include <string>

#include "to_safetensors/checkpoint_to_safetensors.h"

namespace modelutils {

/// Returns one JSON object and a line feed.
std::string checkpoint_json(const to_safetensors::CheckpointReport& report);
/// `all`: list every tensor as well.
std::string checkpoint_text(const to_safetensors::CheckpointReport& report, bool all);

}  // namespace modelutils
