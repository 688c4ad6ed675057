// The tokenizer in BUMPWGT4 and BUMPWGT5 weights. Source of the rules: docs/formats/bump5.md, "Entries".
#pragma once

#include <span>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/finding_log.h"
#include "bump/bump5_layout.h"

namespace modelutils {

/// Offsets that rise from 0 and follow a NUL, texts that end with one, merges of ids whose texts joined are the
/// third's: "bump-vocabulary". Errors: reading.
Status check_bump5_vocabulary(const ByteSource& source, std::span<const bump5::Entry> entries, FindingLog& log);

}  // namespace modelutils
