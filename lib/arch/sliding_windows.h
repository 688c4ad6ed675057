// Sliding windows: which layers have one, in the words of config.json and of the runtime.
#pragma once

#include "arch/family.h"
#include "base/error.h"

namespace modelutils::arch {

/// Every n-th layer is global: n as config.json states it, or as its list of layer types shows it (then more than all
/// layers if none is global); `fallback` if it says nothing.
u64 window_period(const KeyWriter& out, u64 fallback);

/// A flag for each layer, as layer_types has them; nothing if it has none. Error "convert-config": another number of
/// layers, or a kind that is neither sliding nor full attention.
Status write_window_flags(KeyWriter& out, const Key& key);

/// The period of global layers where it is not `usual`, which the loader takes for a missing key. Error
/// "convert-config": another order than the periodic one.
Status write_window_period(KeyWriter& out, const Key& key, u64 usual);

/// Refuses layer types that differ from the periodic order, the only one that the runtime has. Error "convert-config".
Status check_window_order(const KeyWriter& out, u64 period);

}  // namespace modelutils::arch
