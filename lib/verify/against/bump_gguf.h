// verify --against MODEL.gguf WEIGHTS.bump: every entry and every header field compared with the source.
#pragma once

#include "base/finding_log.h"
#include "rules/formats.h"

namespace modelutils {

/// The first error of a source that keeps it from being compared with.
Status check_gguf_source(const Model& source);

/// Findings: "parity-field" (a header field or dtype code), "parity-size", "parity-differs" (an entry, with the offset
/// of its first wrong byte), "parity-not-carried" (a warning: a source tensor that the file has no place for). Errors:
/// the source cannot be read or is not a model that has a BUMPWGT3 form.
Result<FindingLog> compare_bump_with_gguf(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
