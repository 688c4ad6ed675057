// Sliding windows: which layers have one, in the words of config.json and of the runtime.
#pragma once

#include "arch/family.h"
#include "base/error.h"

namespace modelutils::arch {

/// Every n-th layer is global: n as config.json states it, or as its list of layer types shows it (then more than all
/// layers if none is global); `fallback` if it says nothing.
u64 window_period(const KeyWriter& out, u64 fallback);

/// Refuses layer types that differ from the periodic order, the only one that the runtime has. Error "convert-config".
Status check_window_order(const KeyWriter& out, u64 period);

}  // namespace modelutils::arch
