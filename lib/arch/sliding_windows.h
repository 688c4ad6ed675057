// Sliding windows: which layers have one, in the words of config.json and of the runtime.
#pragma once

#include "arch/config_writer.h"
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

/// A flag for each layer, every period-th global; `usual` where config.json does not say. Errors as above.
Status write_window_flags_of_period(KeyWriter& out, const Key& key, u64 usual);

/// Takes the width and the pattern of windows out of the written keys if no layer slides, since llama.cpp aborts on
/// such a file. Error "convert-config": the architecture's loader insists on windows.
Status leave_out_unused_window(KeyWriter& out);

/// Refuses layer types that differ from the periodic order, the only one that the runtime has. Error "convert-config".
Status check_window_order(const KeyWriter& out, u64 period);
/// The same as a check of a family.
template <u64 period>
Status check_period(KeyWriter& out) {
  return check_window_order(out, period);
}

/// The key of write_window_period().
template <u64 usual>
Status write_period(KeyWriter& out, const Key& key) {
  return write_window_period(out, key, usual);
}
template <u64 usual>
inline constexpr Key window_pattern = {
    .name = "attention.sliding_window_pattern", .write = write_period<usual>, .read = read_windows};

/// The key of write_window_flags_of_period(), where llama.cpp's converter writes an array.
template <u64 usual>
Status write_flags(KeyWriter& out, const Key& key) {
  return write_window_flags_of_period(out, key, usual);
}
template <u64 usual>
inline constexpr Key window_flags = {.name = "attention.sliding_window_pattern",
                                     .type = KeyType::flag_layers,
                                     .write = write_flags<usual>,
                                     .read = read_windows};

/// The width of the windows; `fallback` is the class's default.
constexpr Key sliding_window(std::string_view fallback, Missing missing, Need need = Need::optional) {
  return {.name = "attention.sliding_window",
          .fields = "sliding_window",
          .fallback = fallback,
          .missing = missing,
          .need = need};
}

}  // namespace modelutils::arch
