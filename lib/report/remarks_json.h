// Writes a conversion's remarks as a member of a JSON object.
#pragma once

#include "base/finding_log.h"
#include "json/writer.h"

namespace modelutils {

/// Writes `"remarks":[{"severity","code","where","message"}]`.
void write_remarks(json::Writer& out, const FindingLog& remarks);

}  // namespace modelutils
