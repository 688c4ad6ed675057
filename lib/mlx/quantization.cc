#include "mlx/quantization.h"

#include <array>

#include <fmt/core.h>
#include "base/checked_math.h"
#include "base/joined.h"
#include "hf/tensor_names.h"
#include "tensor/shape.h"

namespace modelutils::mlx {

namespace {

// clang-format off
constexpr std::array<ModeInfo, 4> modes{{
    // mode         name      group  bits  biases  fixed
    {Mode::affine, "affine",  64,    4,    true,   false},
    {Mode::mxfp4,  "mxfp4",   32,    4,    false,  true},
    {Mode::nvfp4,  "nvfp4",   16,    4,    false,  true},
    {Mode::mxfp8,  "mxfp8",   32,    8,    false,  true},
}};
// clang-format on

constexpr i64 max_group_size = 1024;

// Reads "group_size", "bits" and "mode" of an object; missing ones take the mode's default. The error is a message for
// a finding.
tl::expected<Params, std::string> read_params(json::Element object) {
  Mode mode = Mode::affine;
  if (const auto given = json::member(object, "mode")) {
    std::string_view name;
    if (!given->get(name)) return tl::make_unexpected(std::string("mode is not a string"));
    const std::optional<Mode> known = mode_from_name(name);
    if (!known) {
      return tl::make_unexpected(fmt::format("mode is '{}', it must be affine, mxfp4, nvfp4 or mxfp8", name));
    }
    mode = *known;
  }
  const Params defaults = default_params(mode);
  const auto number = [&](std::string_view key, u32 fallback) -> tl::expected<i64, std::string> {
    const auto given = json::member(object, key);
    if (!given) return fallback;
    int64_t value = 0;
    if (!given->get(value)) return tl::make_unexpected(fmt::format("{} is not a whole number", key));
    return value;
  };
  const auto bits = number("bits", defaults.bits);
  if (!bits) return tl::make_unexpected(bits.error());
  const auto group_size = number("group_size", defaults.group_size);
  if (!group_size) return tl::make_unexpected(group_size.error());
  if (auto problem = params_problem(mode, *bits, *group_size)) return tl::make_unexpected(std::move(*problem));
  return Params{mode, static_cast<u32>(*bits), static_cast<u32>(*group_size)};
}

void read_override(Quantization& quantization, std::string_view key, json::Element value) {
  Quantization::Override entry;
  if (bool enabled = false; value.get(enabled)) {
    entry.rule = enabled ? Quantization::Rule::on : Quantization::Rule::off;
  } else if (value.is_object()) {
    if (const auto params = read_params(value)) {
      entry.rule = Quantization::Rule::params;
      entry.params = *params;
    } else {
      quantization.findings.error(Scope::model, "mlx-config-override", params.error(),
                                  fmt::format("config.json quantization of '{}'", key));
    }
  } else {
    return;  // not a module's entry but a general setting, such as an exporter's remark
  }
  quantization.overrides.insert_or_assign(hf::canonical_name(key), entry);
}

}  // namespace

const ModeInfo& mode_info(Mode mode) {
  return modes[static_cast<std::size_t>(mode)];
}

std::optional<Mode> mode_from_name(std::string_view name) {
  for (const ModeInfo& info : modes) {
    if (info.name == name) return info.mode;
  }
  return std::nullopt;
}

Params default_params(Mode mode) {
  const ModeInfo& info = mode_info(mode);
  return {mode, info.default_bits, info.default_group_size};
}

std::optional<std::string> params_problem(Mode mode, i64 bits, i64 group_size) {
  const ModeInfo& info = mode_info(mode);
  if (info.fixed_parameters) {
    if (bits == info.default_bits && group_size == info.default_group_size) return std::nullopt;
    return fmt::format("{} uses {} bits and group size {}, but config.json says {} and {}", info.name,
                       info.default_bits, info.default_group_size, bits, group_size);
  }
  if (bits < 2 || bits > 8 || bits == 7) return fmt::format("bits is {}, it must be 2, 3, 4, 5, 6 or 8", bits);
  if (group_size < 8 || group_size > max_group_size || group_size % 8 != 0 || group_size * bits % 32 != 0) {
    return fmt::format("group_size is {}, it must be 32, 64 or 128", group_size);
  }
  return std::nullopt;
}

bool is_scale_type(Mode mode, TensorType type) {
  if (mode != Mode::affine) return type == TensorType::U8;
  return type == TensorType::F16 || type == TensorType::BF16 || type == TensorType::F32;
}

const Quantization::Override* Quantization::find_override(std::string_view module) const {
  if (overrides.empty()) return nullptr;
  const auto found = overrides.find(hf::canonical_name(module));
  return found == overrides.end() ? nullptr : &found->second;
}

std::optional<Params> Quantization::params_for(std::string_view module) const {
  if (const Override* entry = find_override(module)) {
    switch (entry->rule) {
      case Rule::params: return entry->params;
      case Rule::on: return top;
      case Rule::off:
      case Rule::invalid: return std::nullopt;
    }
  }
  return top;
}

Quantization read_quantization(const hf::Config& config) {
  Quantization quantization;
  std::optional<json::Element> settings = config.quantization;
  if (!settings && config.quantization_config) {
    if (config.quant_method == "mxfp4") {
      quantization.has_blocks = true;
      return quantization;
    }
    if (!config.quant_method.empty()) {
      quantization.foreign_method = config.quant_method;
      return quantization;
    }
    settings = config.quantization_config;
  }
  if (!settings) return quantization;
  json::Object object;
  if (!settings->get(object)) {
    quantization.findings.error(Scope::model, "mlx-config-quantization", "is not an object", at_field("quantization"));
    return quantization;
  }
  quantization.declared = true;
  if (const auto params = read_params(*settings)) {
    quantization.top = *params;
  } else {
    quantization.findings.error(Scope::model, "mlx-config-quantization", params.error(), at_field("quantization"));
  }
  for (const auto [key, value] : object) {
    if (key != "group_size" && key != "bits" && key != "mode") read_override(quantization, key, value);
  }
  return quantization;
}

Result<std::vector<u64>> logical_shape(const Params& params, std::span<const u64> weight, std::span<const u64> scales) {
  const auto disagree = [&](std::string_view why) {
    return input_error("mlx-scales-shape", fmt::format("{}: weight [{}], scales [{}], {} bits, group size {}", why,
                                                       joined(weight), joined(scales), params.bits, params.group_size));
  };
  if (weight.size() < 2) return disagree("a packed weight has at least 2 dimensions");
  if (scales.size() != weight.size()) return disagree("weight and scales differ in the number of dimensions");
  for (std::size_t i = 0; i + 1 < weight.size(); ++i) {
    if (weight[i] != scales[i]) return disagree("weight and scales differ in the number of rows");
  }
  const auto bits_of_row = checked_mul(weight.back(), 32);
  const auto from_scales = checked_mul(scales.back(), params.group_size);
  if (!bits_of_row || !from_scales || *bits_of_row % params.bits != 0 || *bits_of_row / params.bits != *from_scales) {
    return disagree("words × 32 / bits is not groups × group size");
  }
  std::vector<u64> shape(weight.begin(), weight.end());
  shape.back() = *from_scales;
  if (!element_count(shape)) return disagree("the number of elements does not fit in 64 bits");
  return shape;
}

}  // namespace modelutils::mlx
