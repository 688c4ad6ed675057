#include "arch/sliding_windows.h"

#include <fmt/core.h>

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

namespace {

Status check_number_of_types(const KeyWriter& out) {
  const std::size_t types = out.config().layer_types.size();
  const u64 layers = out.size(symbol::layers);
  if (types == layers) return {};
  return out.refuse("layer_types", fmt::format("has {}, but the model has {}", counted(types, "entry", "entries"),
                                               counted(layers, "layer")));
}

}  // namespace

Status write_window_flags(KeyWriter& out, const Key& key) {
  const std::vector<std::string>& types = out.config().layer_types;
  if (types.empty()) return {};
  MU_TRY(check_number_of_types(out));
  std::vector<bool> slides;
  for (const std::string& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      return out.refuse("layer_types", fmt::format("has '{}', which is neither sliding nor full attention", type));
    }
    slides.push_back(type == "sliding_attention");
  }
  out.flags(key.name, slides);
  return {};
}

Status write_window_period(KeyWriter& out, const Key& key, u64 usual) {
  const u64 period = window_period(out, usual);
  MU_TRY(check_window_order(out, period));
  return period == usual ? Status{} : out.count(key.name, period);
}

Status write_window_flags_of_period(KeyWriter& out, const Key& key, u64 usual) {
  const u64 period = window_period(out, usual);
  MU_TRY(check_window_order(out, period));
  std::vector<bool> each(static_cast<std::size_t>(out.size(symbol::layers)));
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = period == 0 || (i + 1) % period != 0;
  out.flags(key.name, each);
  return {};
}

Status check_window_order(const KeyWriter& out, u64 period) {
  const std::vector<std::string>& types = out.config().layer_types;
  if (types.empty()) return {};
  MU_TRY(check_number_of_types(out));
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
