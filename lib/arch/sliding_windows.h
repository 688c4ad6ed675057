// Sliding windows: converts config.json's description of which layers have one to the runtime's.
#pragma once

#include "arch/config_writer.h"
#include "arch/family.h"
#include "base/error.h"

namespace modelutils::arch {

/// Returns n if every n-th layer is global: as config.json states it, or as its layer types show (more than the layer
/// count if none is global). Returns `fallback` if it states neither.
u64 window_period(const KeyWriter& out, u64 fallback);

/// Writes a flag per layer from layer_types; nothing without that field. Error "convert-config": a wrong number of
/// layers, or a type other than sliding or full attention.
Status write_window_flags(KeyWriter& out, const Key& key);

/// Writes the period of global layers unless it is `usual`, the loader's default. Error "convert-config": the order is
/// not periodic.
Status write_window_period(KeyWriter& out, const Key& key, u64 usual);

/// Writes a flag per layer, with every n-th layer global; n is `usual` if config.json does not state it. Errors: those
/// of write_window_flags().
Status write_window_flags_of_period(KeyWriter& out, const Key& key, u64 usual);

/// Removes the window's width and pattern from the written keys if no layer slides, since llama.cpp aborts on such
/// files. Error "convert-config": the architecture's loader requires windows.
Status leave_out_unused_window(KeyWriter& out);

/// Refuses layer types that differ from the periodic order, the only one that the runtime supports. Error
/// "convert-config".
Status check_window_order(const KeyWriter& out, u64 period);
/// check_window_order() as a family's check.
template <u64 period>
Status check_period(KeyWriter& out) {
  return check_window_order(out, period);
}

/// The key for write_window_period().
template <u64 usual>
Status write_period(KeyWriter& out, const Key& key) {
  return write_window_period(out, key, usual);
}
template <u64 usual>
inline constexpr Key window_pattern = {
    .name = "attention.sliding_window_pattern", .write = write_period<usual>, .read = read_windows};

/// The key for write_window_flags_of_period(), for architectures where llama.cpp's converter writes an array.
template <u64 usual>
Status write_flags(KeyWriter& out, const Key& key) {
  return write_window_flags_of_period(out, key, usual);
}
template <u64 usual>
inline constexpr Key window_flags = {.name = "attention.sliding_window_pattern",
                                     .type = KeyType::flag_layers,
                                     .write = write_flags<usual>,
                                     .read = read_windows};

/// The width of windows; `fallback` is the class's default.
constexpr Key sliding_window(std::string_view fallback, Missing missing, Need need = Need::optional) {
  return {.name = "attention.sliding_window",
          .fields = "sliding_window",
          .fallback = fallback,
          .missing = missing,
          .need = need};
}

}  // namespace modelutils::arch
