// The JSON of a safetensors header -> Document. Internal; parse.h is the way in.
#pragma once

#include "safetensors/document.h"
#include "safetensors/storage.h"

namespace modelutils::safetensors {

/// Reads the JSON text in `storage` into `document` (metadata, tensors, findings, complete). Offsets in findings count
/// from `text_offset`, where the text begins in the file.
void parse_header(Storage& storage, u64 text_offset, Document& document);

}  // namespace modelutils::safetensors
