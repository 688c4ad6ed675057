// The time that outputs state.
#pragma once

#include "base/types.h"

namespace modelutils {

/// Seconds since 1970: now, or the moment that SOURCE_DATE_EPOCH states for reproducible outputs.
i64 report_time();

}  // namespace modelutils
