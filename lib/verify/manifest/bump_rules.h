// verify --check for BUMPWGT3: what a manifest of gguf2bump records beyond the checksums of the entries.
#pragma once

#include "rules/formats.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

/// Compares header and dtype table with what the manifest records of them, naming field and entry; where the file
/// cannot be laid out by itself, the manifest's places of the entries make up the catalog. Before the checksums are
/// compared, which need it.
void check_bump_manifest(const Model& model, const Manifest& manifest, CheckedModel& checked);

}  // namespace modelutils
