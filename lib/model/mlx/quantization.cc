#include "model/mlx/quantization.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/byte_reader.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/hf/names.h"
#include "tensor/half.h"
#include "tensor/types.h"

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

namespace {

constexpr std::array<float, 16> fp4_values{0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                           -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

// Read as an F16, the 7 magnitude bits have an exponent bias of 15 instead of 7, so the value is 2^8 too small.
constexpr float e4m3_value(u32 bits) {
  const float magnitude = f16_to_f32(static_cast<u16>((bits & 0x7F) << 7)) * 256.0f;
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

constexpr std::array<float, 256> e4m3_values = [] {
  std::array<float, 256> values{};
  for (u32 bits = 0; bits < 256; ++bits) values[bits] = e4m3_value(bits);
  return values;
}();

// Room for the codes of one group; params_problem() limits its size.
constexpr std::size_t max_group = 1024;

float scale_at(TensorType type, Bytes data, std::size_t index) {
  switch (type) {
    case TensorType::F16: return f16_to_f32(load<u16>(data.data() + index * 2));
    case TensorType::BF16: return bf16_to_f32(load<u16>(data.data() + index * 2));
    default: return load<float>(data.data() + index * 4);
  }
}

void dequantize_affine(const Params& params, const Groups& groups, std::span<float> out) {
  std::array<u8, max_group> codes{};
  const std::size_t group = params.group_size;
  const std::size_t group_bytes = params.group_bytes();
  const std::size_t count = out.size() / group;
  for (std::size_t g = 0; g < count; ++g) {
    const float scale = scale_at(groups.scale_type, groups.scales, g);
    const float bias = scale_at(groups.bias_type, groups.biases, g);
    unpack_codes(params.bits, groups.codes.subspan(g * group_bytes, group_bytes), {codes.data(), group});
    float* to = out.data() + g * group;
    for (std::size_t i = 0; i < group; ++i) {
      to[i] = scale * static_cast<float>(codes[i]) + bias;  // rounded twice: the build forbids fused multiply-adds
    }
  }
}

void dequantize_fp(const Params& params, const Groups& groups, std::span<float> out) {
  const std::size_t group = params.group_size;
  const std::size_t group_bytes = params.group_bytes();
  const std::size_t count = out.size() / group;
  for (std::size_t g = 0; g < count; ++g) {
    const u8 byte = std::to_integer<u8>(groups.scales[g]);
    const float scale = params.mode == Mode::nvfp4 ? e4m3_to_f32(byte) : e8m0_to_f32(byte);
    const std::byte* codes = groups.codes.data() + g * group_bytes;
    float* to = out.data() + g * group;
    if (params.mode == Mode::mxfp8) {
      for (std::size_t i = 0; i < group; ++i) to[i] = scale * e4m3_values[std::to_integer<u8>(codes[i])];
    } else {
      for (std::size_t i = 0; i < group_bytes; ++i) {
        const u8 pair = std::to_integer<u8>(codes[i]);
        to[2 * i] = scale * fp4_values[pair & 15u];
        to[2 * i + 1] = scale * fp4_values[pair >> 4];
      }
    }
  }
}

}  // namespace

float e8m0_to_f32(u8 bits) {
  return bf16_to_f32(bits == 0 ? u16{0x40} : static_cast<u16>(bits << 7));
}

float e4m3_to_f32(u8 bits) {
  return e4m3_values[bits];
}

void unpack_codes(u32 bits, Bytes packed, std::span<u8> out) {
  if (bits == 8) {
    std::memcpy(out.data(), packed.data(), out.size());
    return;
  }
  // Eight codes fill exactly `bits` bytes. Loads a whole 64-bit word while there are 8 bytes left.
  const std::byte* in = packed.data();
  std::size_t left = packed.size();
  std::size_t i = 0;
  for (; i + 8 <= out.size() && left >= 8; i += 8, in += bits, left -= bits) {
    const u64 codes = spread_codes(load<u64>(in), bits);
    std::memcpy(out.data() + i, &codes, 8);
  }
  while (i < out.size()) {
    u64 word = 0;
    const std::size_t size = std::min<std::size_t>(left, bits);
    std::memcpy(&word, in, size);
    const u64 codes = spread_codes(word, bits);
    const std::size_t count = std::min<std::size_t>(8, out.size() - i);
    std::memcpy(out.data() + i, &codes, count);
    i += count;
    in += size;
    left -= size;
  }
}

void dequantize(const Params& params, const Groups& groups, std::span<float> out) {
  if (params.mode == Mode::affine) {
    dequantize_affine(params, groups, out);
  } else {
    dequantize_fp(params, groups, out);
  }
}

}  // namespace modelutils::mlx
