// verify --against MODEL.gguf WEIGHTS.bump for BUMPWGT4 and BUMPWGT5: every entry, header field and number of the
// engine's configuration compared with the source.
#pragma once

#include "base/finding_log.h"
#include "rules/formats.h"

namespace modelutils {

/// Findings: "parity-field" (a header field, a number of the manifest's config), "parity-differs" (an entry, with the
/// offset of its first wrong byte), "parity-size" (entries that the source does not give), "parity-not-carried" (a
/// warning: a source tensor that the file has no place for), "parity-context" (a note). Errors: the source cannot be
/// read or is not a model that has a BUMPWGT5 form.
Result<FindingLog> compare_bump5_with_gguf(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
