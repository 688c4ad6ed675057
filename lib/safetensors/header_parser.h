// The JSON of a safetensors header -> Document. Internal; callers use parse.h.
#pragma once

#include "safetensors/document.h"
#include "safetensors/storage.h"

namespace modelutils::safetensors {

/// Reads the JSON text in `storage` into `document` (metadata, tensors, findings, complete). `text_offset` is the
/// text's offset in the file; offsets in findings include it.
void parse_header(Storage& storage, u64 text_offset, Document& document);

}  // namespace modelutils::safetensors
