#include "arch/sliding_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "arch/key_writer.h"
#include "base/counted.h"

namespace modelutils::arch {

u64 window_period(const KeyWriter& out, u64 fallback) {
  const hf::Config& config = out.config();
  if (config.sliding_window_pattern) return *config.sliding_window_pattern;
  if (const auto hidden = config.u64_field("_sliding_window_pattern")) return *hidden;
  const std::vector<std::string>& types = config.layer_types;
  const auto global = std::find(types.begin(), types.end(), "full_attention");
  if (global != types.end()) return static_cast<u64>(global - types.begin()) + 1;
  return std::max<u64>(fallback, types.size() + 1);
}

Status check_window_order(const KeyWriter& out, u64 period) {
  const std::vector<std::string>& types = out.config().layer_types;
  if (types.empty()) return {};
  const u64 layers = out.size(symbol::layers);
  if (types.size() != layers) {
    return out.refuse("layer_types", fmt::format("has {}, but the model has {}",
                                                 counted(types.size(), "entry", "entries"), counted(layers, "layer")));
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool is_global = period != 0 && (i + 1) % period == 0;
    if (types[i] == (is_global ? "full_attention" : "sliding_attention")) continue;
    return out.refuse("layer_types",
                      fmt::format("has '{}' for layer {}; llama.cpp makes every layer whose number + 1 is a "
                                  "multiple of {} global and all others sliding",
                                  types[i], i, period));
  }
  return {};
}

}  // namespace modelutils::arch
