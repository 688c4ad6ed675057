#include "arch/layer_kinds.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "arch/rope.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

std::vector<u64> counts_of_layers(const hf::Config& config, std::string_view field) {
  std::vector<u64> counts;
  const auto found = config.field(field);
  json::Array list;
  if (!found || !found->get(list)) return counts;
  for (const json::Element element : list) {
    u64 count = 0;
    if (!element.get(count)) return {};
    counts.push_back(count);
  }
  return counts;
}

std::vector<double> numbers_of_layers(const hf::Config& config, std::string_view field) {
  std::vector<double> numbers;
  const auto found = config.field(field);
  json::Array list;
  if (!found || !found->get(list)) return numbers;
  for (const json::Element one : list) {
    double value = 0;
    numbers.push_back(one.get(value) ? value : 0);
  }
  return numbers;
}

std::vector<std::string> kinds_of_layers(const hf::Config& config, std::string_view fields) {
  std::vector<std::string> kinds;
  const auto found = config.field(stated_field(config, fields));
  if (!found) return kinds;
  if (std::string_view letters; found->get(letters)) {
    for (const char letter : letters) kinds.emplace_back(1, letter);
    return kinds;
  }
  json::Array list;
  if (!found->get(list)) return kinds;
  for (const json::Element element : list) {
    std::string_view word;
    if (!element.get(word)) return {};
    kinds.emplace_back(word);
  }
  return kinds;
}

std::vector<u64> in_layers(const std::vector<std::string>& kinds, std::initializer_list<std::string_view> wanted,
                           u64 value) {
  std::vector<u64> values;
  for (const std::string& kind : kinds) {
    values.push_back(std::find(wanted.begin(), wanted.end(), kind) != wanted.end() ? value : 0);
  }
  return values;
}

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

std::optional<u64> mla_head(const hf::Config& config, const Sizes& sizes) {
  const auto plain = config.count_field("qk_nope_head_dim");
  const auto rotated = sizes.find(symbol::rotated);
  return plain && rotated ? std::optional(*plain + *rotated) : std::nullopt;
}

Status write_mla_rope_scaling(KeyWriter& out, const Key& key) {
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  if (!scaling || scaling->type.find("yarn") == std::string::npos) return write_rope_scaling(out, key);
  MU_TRY(write_yarn_keys(out, *scaling));
  const double factor = scaling->factor.value_or(1);
  const double on_rotated = yarn_magnitude(*scaling, out.is_mlx());
  const double on_all = yarn_magnitude(factor, scaling->mscale_all_dim.value_or(0));
  const double per_multiplier = yarn_magnitude(factor, 1) - 1;
  const double multiplier = per_multiplier > 0 ? (on_all / on_rotated - 1) / per_multiplier : 0;
  const double fixed = multiplier == 0 ? yarn_magnitude(factor, 1) : 1;
  if (multiplier != 0) MU_TRY(out.real("rope.scaling.yarn_log_multiplier", 0.1 * multiplier));
  return std::abs(on_rotated - fixed) > 1e-6 ? out.real("rope.scaling.attn_factor", on_rotated / fixed) : Status{};
}

std::optional<u64> inner_width(const hf::Config& config, const Sizes& sizes) {
  const auto heads = config.count_field("mamba_num_heads|mamba_n_heads|num_heads");
  const auto width = config.count_field("mamba_head_dim|mamba_d_head|hidden_size_per_head|head_dim");
  if (heads && width) return checked_mul(*heads, *width);
  const auto expansion = config.count_field("mamba_expand|expand");
  return expansion ? checked_mul(*expansion, sizes.get(symbol::embedding)) : std::nullopt;
}

Status warn_of_groups(KeyWriter& out) {
  const u64 groups = out.size("Gs");
  if (groups > 1) {
    out.warn("n_groups", fmt::format("is {}: llama.cpp normalises each group by itself, mlx-lm all together", groups));
  }
  return {};
}

Status warn_of_time_step_limit(KeyWriter& out) {
  const auto found = out.config().field("time_step_limit");
  json::Array limits;
  if (!found || !found->get(limits) || limits.size() != 2) return {};
  double low = 0;
  double high = 0;
  if (!limits.at(0)->get(low) || !limits.at(1)->get(high)) return {};
  // Infinity is parsed as the largest number; no time step comes near a million.
  if (low > 0 || high < 1e6) out.warn("time_step_limit", "limits the time steps, which llama.cpp does not");
  return {};
}

}  // namespace modelutils::arch
