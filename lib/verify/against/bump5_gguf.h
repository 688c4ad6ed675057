// verify --against MODEL.gguf WEIGHTS.bump for BUMPWGT4 and BUMPWGT5: compares every entry, every header field and
// every number in the engine's configuration with the source.
#pragma once

#include "base/finding_log.h"
#include "rules/formats.h"

namespace modelutils {

/// Compares a BUMPWGT4 or BUMPWGT5 file with its source. Findings: "parity-field" (a header field or a number in the
/// manifest's config), "parity-differs" (an entry, with the offset of its first differing byte), "parity-size" (an
/// entry's size differs from the source's), "parity-not-carried" (a warning: the format has no entry for a source
/// tensor), "parity-context" (a note). Errors: the source cannot be read or has no BUMPWGT5 form.
Result<FindingLog> compare_bump5_with_gguf(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
