// What a conversion did, in its two forms. docs/json.md describes the JSON forms ("mlx2gguf/1", "gguf2mlx/1").
#pragma once

#include <string>

#include "transfer/report.h"

namespace modelutils {

/// One JSON object and a line feed.
std::string transfer_json(const TransferReport& report);

/// For people: what is not exact, tensors of one source form, target form and reason together (with `all` a line for
/// each tensor, exact ones too), what was left out and assumed, the files if they are several or would be written, then
/// the totals. Escaped.
std::string transfer_text(const TransferReport& report, bool all);

}  // namespace modelutils
