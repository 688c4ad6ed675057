// verify's rules for BUMPWGT files. Source of the rules: docs/formats/bump.md and docs/formats/bump5.md.
#pragma once

#include "base/log.h"
#include "formats/bump/document.h"
#include "rules/formats.h"

namespace modelutils {

/// Checks BUMPWGT3: header, dtype table, exact size, reserved bytes, config.json beside the file, and always the
/// payload's checksum.
Result<CheckedModel> check_bump(const Model& model, unsigned threads = 1);

/// Checks BUMPWGT4 and BUMPWGT5: header, dtype table, exact size, checksum, metadata and footer, tokenizer, and beside
/// the file the engine's manifest and map, and config.json.
Result<CheckedModel> check_bump5(const Model& model, unsigned threads = 1);

}  // namespace modelutils
