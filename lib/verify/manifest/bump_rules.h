// verify --check for BUMPWGT3: checks the facts that a gguf2bump manifest records beyond the checksums.
#pragma once

#include "rules/formats.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

/// Compares header and dtype table with the manifest and names each differing field and entry. If the file's layout
/// cannot be derived from the file alone, the catalog is filled with the entry offsets in the manifest. Call before
/// comparing checksums, which needs the catalog.
void check_bump_manifest(const Model& model, const Manifest& manifest, CheckedModel& checked);

}  // namespace modelutils
