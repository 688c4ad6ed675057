// What a conversion did, in its two forms. docs/json.md describes the JSON form ("mlx2gguf/1").
#pragma once

#include <string>

#include "transfer/conversion_report.h"

namespace modelutils {

/// One JSON object and a line feed.
std::string conversion_json(const ConversionReport& report);

/// For people: what is not exact, tensors of one source form, type and reason together (with `all` a line for each
/// tensor, exact ones too), the files if they are several, then the totals. Escaped.
std::string conversion_text(const ConversionReport& report, bool all);

}  // namespace modelutils
