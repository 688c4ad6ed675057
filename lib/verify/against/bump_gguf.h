// verify --against MODEL.gguf WEIGHTS.bump: compares every entry and every header field with the source.
#pragma once

#include "base/log.h"
#include "rules/formats.h"

namespace modelutils {

/// Returns the first error that prevents a comparison with this source.
Status check_gguf_source(const Model& source);

/// Compares a BUMPWGT3 file with its source. Findings: "parity-field" (a header field or dtype code), "parity-size",
/// "parity-differs" (an entry, with the offset of its first differing byte), "parity-not-carried" (a warning: the
/// format has no entry for a source tensor). Errors: the source cannot be read or has no BUMPWGT3 form.
Result<FindingLog> compare_bump_with_gguf(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
