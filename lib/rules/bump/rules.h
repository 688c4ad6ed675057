// What verify says of a BUMPWGT3 file. Source of the rules: docs/formats/bump.md.
#pragma once

#include "base/finding_log.h"
#include "bump/document.h"
#include "rules/formats.h"

namespace modelutils {

/// Header, dtype table, exact size, reserved bytes, config.json beside the file, and always the payload's checksum.
Result<CheckedModel> check_bump(const Model& model);

}  // namespace modelutils
