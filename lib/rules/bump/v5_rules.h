// What verify says of a BUMPWGT4 or BUMPWGT5 file and the files that belong to it. Source of the rules:
// docs/formats/bump5.md.
#pragma once

#include "rules/formats.h"

namespace modelutils {

/// Header, dtype table, exact size, checksum, metadata and footer, tokenizer, and next to the file the engine's
/// manifest and map and config.json.
Result<CheckedModel> check_bump5(const Model& model);

}  // namespace modelutils
