// What verify says of a BUMPWGT3 file. Source of the rules: docs/formats/bump.md.
#pragma once

#include "base/finding_log.h"
#include "bump/document.h"
#include "verify/formats.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

/// Header, dtype table, exact size, reserved bytes, config.json beside the file, and always the payload's checksum.
Result<CheckedModel> check_bump(const Model& model);

/// Compares header and dtype table with what gguf2bump's manifest records of them, naming field and entry; where the
/// file cannot be laid out by itself, the manifest's places of the entries make up the catalog.
void check_bump_manifest(const Model& model, const Manifest& manifest, CheckedModel& checked);

}  // namespace modelutils
