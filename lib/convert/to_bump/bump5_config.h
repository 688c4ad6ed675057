// The texts of a BUMPWGT5 conversion: config.json, the manifest from which C-Kernel-Engine builds its program, and the
// metadata at the end of the weights. Source: docs/formats/bump5.md.
#pragma once

#include <string>

#include "convert/to_bump/bump5_mapping.h"
#include "formats/gguf/document.h"

namespace modelutils {

// Precondition for all functions: a mapping without refusals, and the index of the file that it was made from.

/// Returns the text of config.json.
std::string bump5_config_text(const gguf::Index& index, const Bump5Mapping& mapping);
/// Returns the text of weights_manifest.json. Its `template` is null, so that the engine uses its own.
std::string bump5_manifest_text(const gguf::Index& index, const Bump5Mapping& mapping);
/// Returns the text of weights_manifest.map.
std::string bump5_map_text(const Bump5Mapping& mapping);
/// Returns the metadata as canonical JSON. `manifest` is the text of bump5_manifest_text(). Error: "internal".
Result<std::string> bump5_metadata_text(const std::string& manifest, const std::string& creator);

}  // namespace modelutils
