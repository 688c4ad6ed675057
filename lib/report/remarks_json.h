// Remarks of a conversion as a member of a JSON object.
#pragma once

#include "base/finding_log.h"
#include "json/writer.h"

namespace modelutils {

/// `"remarks":[{"severity","code","where","message"}]`.
void write_remarks(json::Writer& out, const FindingLog& remarks);

}  // namespace modelutils
