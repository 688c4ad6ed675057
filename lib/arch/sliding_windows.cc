#include "arch/sliding_windows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

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

namespace {

constexpr std::string_view width_key = "attention.sliding_window", pattern_key = "attention.sliding_window_pattern";

// True if a layer slides by the written pattern, which is a period or flags per layer.
bool has_sliding_layer(const KeyWriter& out, const gguf::OutKey* pattern) {
  const Windows& windows = out.family().cache.windows;
  u64 period = windows.period;
  if (pattern != nullptr && pattern->type == gguf::ValueType::array) {
    constexpr std::size_t head = sizeof(u32) + sizeof(u64);  // element type and count, which precede the flags
    const std::string_view elements = std::string_view(pattern->encoded).substr(head);
    u32 type = 0;
    std::memcpy(&type, pattern->encoded.data(), sizeof type);
    const u64 trunk = out.size(symbol::layers) * gguf::value_size(static_cast<gguf::ValueType>(type));
    return elements.substr(0, static_cast<std::size_t>(trunk)).find_first_not_of('\0') != std::string_view::npos;
  }
  if (pattern != nullptr && pattern->encoded.size() == sizeof(u32)) {
    u32 value = 0;
    std::memcpy(&value, pattern->encoded.data(), sizeof value);
    period = value;
  }
  const u64 layers = out.size(symbol::layers);
  return period == 0 || (period > 1 && layers > (windows.global_first ? 1 : 0));
}

}  // namespace

Status leave_out_unused_window(KeyWriter& out) {
  const Windows& windows = out.family().cache.windows;
  using Rule = Windows::Rule;
  if (windows.rule != Rule::period && windows.rule != Rule::number_or_list && windows.rule != Rule::list) return {};
  const auto written = [&](std::string_view name) {
    const auto found = std::ranges::find(out.keys, fmt::format("{}.{}", out.family().gguf, name), &gguf::OutKey::key);
    return found == out.keys.end() ? nullptr : &*found;
  };
  const gguf::OutKey* width = written(width_key);
  const gguf::OutKey* pattern = written(pattern_key);
  const bool is_zero = width == nullptr || width->encoded.find_first_not_of('\0') == std::string::npos;
  if ((is_zero && !windows.always) || has_sliding_layer(out, pattern)) return {};
  if (windows.only_with_layers != 0 && windows.only_with_layers != out.size(symbol::layers)) return {};
  if (windows.always) {
    return out.refuse("layer_types",
                      "has no layer with a sliding window, without which llama.cpp aborts on a model of this "
                      "architecture");
  }
  out.remark(Severity::note, "sliding_window",
             "is left out: no layer slides, and llama.cpp aborts on a window without one");
  std::erase_if(out.keys, [&](const gguf::OutKey& key) {
    const std::string prefix = std::string(out.family().gguf) + ".";
    return key.key == prefix + std::string(width_key) || key.key == prefix + std::string(pattern_key);
  });
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
