// The report of gguf-quantize in its two forms. docs/json.md describes the JSON form ("gguf-quantize/1").
#pragma once

#include <string>

#include "requantize/report.h"

namespace modelutils {

/// Returns one JSON object and a line feed.
std::string quantize_json(const requantize::QuantizeReport& report);

/// Returns text for people: the contents and errors of each type, the worst layers first (with `all` a line for each
/// tensor), then the totals. Escaped.
std::string quantize_text(const requantize::QuantizeReport& report, bool all);

}  // namespace modelutils
