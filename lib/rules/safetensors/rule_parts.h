// The parts of the safetensors rules. Use rules.h instead.
#pragma once

#include "base/finding_log.h"
#include "safetensors/document.h"

namespace modelutils::safetensors_rules {

/// Checks each tensor by itself: name, dtype, shape, offsets, size.
void check_tensors(const safetensors::Document& document, FindingLog& log);

/// Checks all tensors together: overlaps, holes, bytes after the last one, truncation, alignment of the data.
void check_layout(const safetensors::Document& document, FindingLog& log);

}  // namespace modelutils::safetensors_rules
