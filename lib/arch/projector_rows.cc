#include "arch/projector_rows.h"

#include <fmt/core.h>

#include <cmath>

#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

Status write_image_values(KeyWriter& out, const Key& key) {
  const auto field = out.config().field(key.fields);
  if (!field) return out.refuse(key.fields, "is missing; llama.cpp cannot scale images without it");
  constexpr std::size_t colours = 3;
  json::Array list;
  if (!field->get(list) || list.size() < colours) {
    return out.refuse(key.fields, "is not a list of at least three numbers, one for each colour");
  }
  std::vector<float> values;
  for (const json::Element each : list) {
    double value = 0;
    if (!each.get(value) || !std::isfinite(static_cast<float>(value))) {
      return out.refuse(key.fields, "has a value that is not a finite number");
    }
    if (key.name.ends_with("std") && static_cast<float>(value) == 0) {
      return out.refuse(key.fields, "has a 0, by which every colour would be divided");
    }
    values.push_back(static_cast<float>(value));
  }
  out.reals(key.name, values);
  return {};
}

Status write_window_pattern(KeyWriter& out, const Key& key) {
  const auto field = out.config().field(key.fields);
  json::Array list;
  if (!field || !field->get(list) || list.size() == 0) {
    return key.need == Need::required ? Status(out.refuse(key.fields, "is missing, but llama.cpp requires it"))
                                      : Status();
  }
  u64 period = 0;
  u64 expected = 0;
  for (const json::Element each : list) {
    u64 index = 0;
    if (!each.get(index) || index >= max_layers) return out.refuse(key.fields, "is not a list of blocks");
    if (period == 0) expected = period = index + 1;
    if (index + 1 != expected) {
      return out.refuse(key.fields,
                        fmt::format("has block {}, but llama.cpp expects full attention in the last of every {} blocks",
                                    index, period));
    }
    expected += period;
  }
  if (const u64 layers = out.size("L"); expected <= layers || expected - period > layers) {
    return out.refuse(key.fields, fmt::format("does not name the last of every {} of {} blocks", period, layers));
  }
  return out.count(key.name, period);
}

Status write_activation(KeyWriter& out, const Key& key) {
  const auto stated = out.config().string_field(key.fields);
  const std::string_view name = stated.value_or(key.fallback);
  if (!has_name(silu_names, name) && !has_name(gelu_names, name)) {
    return out.refuse(key.fields, fmt::format("is '{}'; llama.cpp computes GELU or SiLU for this projector", name));
  }
  out.flag(has_name(silu_names, name) ? "use_silu" : "use_gelu", true);
  return {};
}

Status write_if_positive(KeyWriter& out, const Key& key) {
  const auto value = out.config().count_field(key.fields);
  return value && *value > 0 ? out.count(key.name, *value) : Status();
}

Status write_pooling(KeyWriter& out, const Key& key) {
  constexpr u64 of_runtime = 4;
  const u64 tokens = out.config().count_field(key.fields).value_or(256);
  const u64 side = static_cast<u64>(std::sqrt(static_cast<double>(std::min(tokens, u64{1} << 32))));
  const u64 patches = out.size("P") == 0 ? 0 : out.size("I") / out.size("P");
  const u64 factor = side == 0 ? 0 : patches / side;
  return factor > 0 && factor != of_runtime ? out.count(key.name, factor) : Status();
}

Status read_image_values(ConfigWriter& out, const Key& key) {
  MU_ASSIGN(const std::vector<float> values, out.reals(key.name));
  if (values.empty()) return out.refuse(key.name, "is missing");
  out.set(key.fields, hf::config_list(values));
  return {};
}

Status read_window_pattern(ConfigWriter& out, const Key& key) {
  const u64 period = out.count(key.name).value_or(0);
  if (period == 0) return {};
  std::vector<u64> blocks;
  for (u64 block = period - 1; block < out.size("L"); block += period) blocks.push_back(block);
  out.set(key.fields, hf::config_list(blocks));
  return {};
}

Status read_activation(ConfigWriter& out, const Key& key) {
  const bool is_gelu = out.flag("use_gelu").value_or(false);
  const bool is_silu = out.flag("use_silu").value_or(false);
  out.set(key.fields, is_gelu ? "gelu" : is_silu ? "silu" : "quick_gelu");
  return {};
}

Status read_pooling(ConfigWriter& out, const Key& key) {
  const u64 factor = out.count(key.name).value_or(4);
  const u64 side = factor == 0 || out.size("P") == 0 ? 0 : out.size("I") / out.size("P") / factor;
  if (side > 0 && side <= 1024) out.set(key.fields, side * side);
  return {};
}

Status read_nothing(ConfigWriter& /*out*/, const Key& /*key*/) {
  return {};
}

std::optional<u64> layers_to_feature(const hf::Config& config, i64 class_default) {
  static constexpr const Key& block_count = named(vision_keys, "vision.block_count");
  const auto layers = config.count_field(block_count.fields);
  if (!layers || *layers > max_layers) return std::nullopt;
  i64 at = class_default;
  const auto field = config.field("vision_feature_layer");
  if (field && !field->get(at)) return std::nullopt;
  const i64 count = at < 0 ? static_cast<i64>(*layers) + at + 1 : at;
  return count > 0 && count <= static_cast<i64>(*layers) ? std::optional(static_cast<u64>(count)) : std::nullopt;
}

u64 inverse_of(double ratio) {
  constexpr double least = 1.0 / 1024;
  return ratio >= least && ratio <= 1 ? static_cast<u64>(1 / ratio) : 0;
}

Status check_ratio(KeyWriter& out, std::string_view field) {
  if (!out.config().field(field) || inverse_of(out.config().number_field(field).value_or(0)) > 0) return {};
  return out.refuse(field, "is not a number between 1/1024 and 1");
}

}  // namespace modelutils::arch
