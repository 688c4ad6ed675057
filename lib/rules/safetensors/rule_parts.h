// The parts of the safetensors rules. Internal to lib/verify; safetensors_rules.h is the way in.
#pragma once

#include "base/finding_log.h"
#include "safetensors/document.h"

namespace modelutils::safetensors_rules {

/// Each tensor by itself: name, dtype, shape, offsets, size.
void check_tensors(const safetensors::Document& document, FindingLog& log);

/// All of them together: overlaps, holes, bytes behind the last, data that was cut off, alignment of the data.
void check_layout(const safetensors::Document& document, FindingLog& log);

}  // namespace modelutils::safetensors_rules
