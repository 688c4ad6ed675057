// The timestamp for outputs.
#pragma once

#include "base/types.h"

namespace modelutils {

/// Returns seconds since 1970: the current time, or SOURCE_DATE_EPOCH for reproducible outputs.
i64 report_time();

}  // namespace modelutils
