// The report of model-diff --extract-lora, for scripts (extract-lora/1, docs/json.md) and for people.
#pragma once

#include <string>

#include "compare/extract_adapter.h"

namespace modelutils {

/// Returns one JSON object and a line feed.
std::string extract_json(const ExtractReport& report);
/// Returns text for people. Escaped.
std::string extract_text(const ExtractReport& report);

}  // namespace modelutils
