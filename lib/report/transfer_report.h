// The report of a conversion in its two forms. docs/json.md describes the JSON forms ("mlx2gguf/1", "gguf2mlx/1").
#pragma once

#include <string>

#include "base/log.h"
#include "convert/transfer/report.h"
#include "json/writer.h"

namespace modelutils {

// Writes a conversion's remarks as a member of a JSON object.

/// Writes `"remarks":[{"severity","code","where","message"}]`.
void write_remarks(json::Writer& out, const FindingLog& remarks);

/// Returns one JSON object and a line feed.
std::string transfer_json(const TransferReport& report);

/// Returns text for people: the inexact tensors, grouped by source form, target form and reason (with `all` a line for
/// each tensor, including exact ones), omissions and assumptions, the files if there are several or if this is a dry
/// run, then the totals. Escaped.
std::string transfer_text(const TransferReport& report, bool all);

}  // namespace modelutils
