#include "model/forms/foreign_forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

namespace foreign {

bool is_float(std::optional<TensorType> type) {
  return type == TensorType::F32 || type == TensorType::BF16 || type == TensorType::F16;
}

bool Recognition::take_scale(std::size_t place, std::string_view suffix) {
  module.quantized = true;
  module.planes[1] = place;
  if (is_float(tensors[place].type)) return true;
  if (tensors[place].type == TensorType::F8_E8M0 && tensors[module.weight()].type == TensorType::F8_E4M3) return true;
  findings.error(Scope::model, "hf-scale-type",
                 fmt::format("{} is {}; it must be F32, BF16 or F16", suffix.substr(1),
                             tensors[place].type ? type_name(*tensors[place].type) : "of unknown type"),
                 at_module(module.path));
  return false;
}

bool Recognition::misfit(std::string_view suffix, std::size_t place) {
  findings.error(Scope::model, "hf-module-shape",
                 fmt::format("{} has shape [{}], which does not fit the codes of shape [{}]", suffix.substr(1),
                             joined(tensors[place].shape), joined(tensors[module.weight()].shape)),
                 at_module(module.path));
  return true;
}

bool Recognition::contradict(std::string message) {
  findings.error(Scope::model, "hf-quant-contradiction", std::move(message), at_module(module.path));
  return true;
}

namespace {

bool is_of_width(const StatedWeights& stated, u64 bits) {
  return stated.bits.value_or(bits) == bits;
}

}  // namespace

bool has_stated_groups(const ForeignMethod& method, u64 bits, u64 columns, u64 groups) {
  bool is_stated = false;
  for (const StatedWeights& stated : method.stated) {
    if (!is_of_width(stated, bits)) continue;
    if (!stated.group_size) return true;
    const u64 size = *stated.group_size;
    if (size == 0 ? groups == 1 : columns / size + (columns % size != 0 ? 1 : 0) == groups) return true;
    is_stated = true;
  }
  return !is_stated;
}

bool Recognition::has_stated_groups(u64 bits, u64 columns, u64 groups) {
  if (foreign::has_stated_groups(method, bits, columns, groups)) return true;
  contradict(fmt::format("has {} for rows of {} columns, which contradicts the group size in config.json",
                         counted(groups, "scale"), columns));
  return false;
}

bool Recognition::may_lack_zeros(u64 bits) {
  bool is_stated = false;
  for (const StatedWeights& stated : method.stated) {
    if (!is_of_width(stated, bits)) continue;
    if (stated.is_symmetric.value_or(true)) return true;
    is_stated = true;
  }
  if (is_stated) contradict("has no zero points, but config.json says that its weights are asymmetric");
  return !is_stated;
}

}  // namespace foreign

namespace {

using foreign::ceil_div;
using foreign::Recognition;

// Scales of stacked experts; transformers writes either of the first two.
constexpr std::array<std::string_view, 3> scales_of_stacks = {"_scale_inv", "_scales_inv", "_scale"};

// Returns the form for a weight and a scale of these shapes; nullopt if they do not match. Rows are counted across all
// experts of a stack, so a block of several rows must not span two experts.
std::optional<StoredForm> fp8_form_of(const ForeignMethod& method, std::span<const u64> weight,
                                      std::span<const u64> scale, TensorType type) {
  if (weight.empty()) return std::nullopt;
  const u64 columns = weight.back(), rows = *element_count(weight) / columns;
  const u64 scales = element_count(scale).value_or(0);
  const bool is_matrix = weight.size() == 2;
  if (scales == 1) return fp8_form(type);
  if (scales == rows && (scale.back() == 1 || (scale.size() == 1 && is_matrix))) return fp8_form(type, 1);
  if (weight.size() < 2 || scale.size() != weight.size()) return std::nullopt;
  const u64 own_rows = weight[weight.size() - 2], lines = scale[scale.size() - 2];
  if (!std::ranges::equal(scale.first(scale.size() - 2), weight.first(weight.size() - 2))) return std::nullopt;
  if (lines == 1 && scale.back() == 1) return fp8_form(type, own_rows);
  const u64 block_rows = std::min(method.block_rows, own_rows);
  if (lines == ceil_div(own_rows, block_rows) && scale.back() == ceil_div(columns, method.block_columns) &&
      (is_matrix || own_rows % block_rows == 0)) {
    return fp8_form(type, is_matrix ? method.block_rows : block_rows, method.block_columns);
  }
  const bool has_groups = lines == own_rows && method.group_size > 0;
  return has_groups && scale.back() == ceil_div(columns, method.group_size)
             ? std::optional(fp8_form(type, 1, method.group_size))
             : std::nullopt;
}

// True if the number of scales matches the block size in the settings.
bool has_stated_blocks(const ForeignMethod& method, std::span<const u64> weight, std::span<const u64> scale) {
  if (!method.states_block || weight.size() < 2) return true;
  const u64 rows = weight[weight.size() - 2], columns = weight.back();
  const u64 matrices = *element_count(weight) / rows / columns;
  return element_count(scale) == checked_product(std::array{matrices, ceil_div(rows, method.block_rows),
                                                            ceil_div(columns, method.block_columns)});
}

// "P.weight" of F8_E4M3, or an F8_E4M3 stack of experts "P", with one scale, one per row, or one per block.
bool recognise_fp8(Recognition& of) {
  const mlx::TensorRef& weight = of.tensors[of.module.weight()];
  if (weight.type != TensorType::F8_E4M3) return false;
  // The last is DeepSeek V4's.
  constexpr std::array<std::string_view, 4> of_weights = {".weight_scale_inv", ".weight_scale", ".qscale_weight",
                                                          ".scale"};
  const bool is_stack = is_fp8_stack(weight);
  const std::span<const std::string_view> suffixes =
      is_stack ? std::span<const std::string_view>(scales_of_stacks) : std::span<const std::string_view>(of_weights);
  std::string_view suffix;
  std::size_t scale = no_tensor;
  for (const std::string_view each : suffixes) {
    if (scale == no_tensor) scale = of.finder.find(of.module.path, suffix = each);
  }
  if (scale == no_tensor) {
    of.findings.error(Scope::model, "hf-scale-missing",
                      is_stack ? "has FP8 weights of experts, but no tensor of this name and _scale_inv or _scale"
                               : "has an FP8 weight, but no weight_scale_inv or weight_scale",
                      at_module(of.module.path));
    of.module.quantized = true;
    return true;
  }
  if (!of.take_scale(scale, suffix) || element_count(weight.shape).value_or(0) == 0) return true;
  of.module.form = fp8_form_of(of.method, weight.shape, of.tensors[scale].shape, *of.tensors[scale].type);
  of.module.decodable = of.module.form.has_value();
  if (!of.module.decodable) of.misfit(suffix, scale);
  if (of.module.decodable && !has_stated_blocks(of.method, weight.shape, of.tensors[scale].shape)) {
    of.contradict(fmt::format("has {} of shape [{}], but config.json says one scale for each block of {} × {}",
                              suffix.substr(1), joined(of.tensors[scale].shape), of.method.block_rows,
                              of.method.block_columns));
    of.module.decodable = false;
  }
  return true;
}

// Two E2M1 codes per byte, with an E4M3 scale per 16 elements and one factor (or its reciprocal) for the tensor; or
// MXFP4 with an E8M0 scale per 32 elements.
bool recognise_fp4(Recognition& of) {
  const mlx::TensorRef& codes = of.tensors[of.module.weight()];
  if (codes.type != TensorType::U8 || codes.shape.size() < 2) return false;
  const std::size_t scale = of.finder.find(of.module.path, ".weight_scale");
  if (scale == no_tensor) {
    of.module.quantized = true;
    of.findings.error(Scope::model, "hf-scale-missing", "has codes of four bits, but no weight_scale",
                      at_module(of.module.path));
    return true;
  }
  const mlx::TensorRef& scales = of.tensors[scale];
  const bool is_mxfp4 = scales.type == TensorType::U8;
  if (!is_mxfp4 && scales.type != TensorType::F8_E4M3) return false;
  of.module.quantized = true;
  of.module.planes[1] = scale;
  const u64 group_bytes = is_mxfp4 ? 16 : 8;
  std::vector<u64> wanted(codes.shape.begin(), codes.shape.end());
  wanted.back() /= group_bytes;
  const auto columns = checked_mul(codes.shape.back(), u64{2});
  if (codes.shape.back() % group_bytes != 0 || !std::ranges::equal(scales.shape, wanted) || !columns ||
      element_count(codes.shape).value_or(0) == 0) {
    return of.misfit(".weight_scale", scale);
  }
  if (!of.has_stated_groups(4, *columns, wanted.back())) return true;
  of.module.shape.assign(codes.shape.begin(), codes.shape.end());
  of.module.shape.back() = *columns;
  if (is_mxfp4) {
    of.module.form = mlx_form(mlx::default_params(mlx::Mode::mxfp4), TensorType::U8, TensorType::U8, TensorType::F32);
    of.module.decodable = true;
    return true;
  }
  const bool is_inverse = of.finder.find(of.module.path, ".weight_global_scale") != no_tensor;
  const std::string_view suffix = is_inverse ? ".weight_global_scale" : ".weight_scale_2";
  of.module.planes[2] = of.finder.find(of.module.path, suffix);
  if (of.module.planes[2] == no_tensor) {
    of.findings.error(Scope::model, "hf-scale-missing", "has NVFP4 codes, but no weight_scale_2 or weight_global_scale",
                      at_module(of.module.path));
    return true;
  }
  const mlx::TensorRef& factor = of.tensors[of.module.planes[2]];
  if (factor.type != TensorType::F32 || element_count(factor.shape) != u64{1}) {
    return of.misfit(suffix, of.module.planes[2]);
  }
  of.module.form = nvfp4_form(is_inverse);
  of.module.decodable = true;
  return true;
}

// Rejects additional scales: nothing tells which of them to apply.
void refuse_other_scales(Recognition& of) {
  constexpr std::array<std::string_view, 5> others = {".weight_scale", ".weight_scale_inv", ".qscale_weight",
                                                      ".weight_scale_2", ".weight_global_scale"};
  const bool is_stack = is_fp8_stack(of.tensors[of.module.weight()]);
  const std::span<const std::string_view> suffixes =
      is_stack ? std::span<const std::string_view>(scales_of_stacks) : std::span<const std::string_view>(others);
  for (const std::string_view suffix : suffixes) {
    const std::size_t scale = of.finder.find(of.module.path, suffix);
    if (scale == no_tensor || std::ranges::find(of.module.planes, scale) != of.module.planes.end()) continue;
    if (of.module.quantized && !of.module.decodable) return;  // the form already has a finding
    const std::optional<TensorType> type = of.tensors[of.module.weight()].type;
    of.findings.error(Scope::model, "hf-scale-unused",
                      of.module.quantized ? fmt::format("has {} in addition to the scale of its form", suffix.substr(1))
                                          : fmt::format("has {}, but its weight is {}, which takes no scale",
                                                        suffix.substr(1), type ? type_name(*type) : "unknown type"),
                      at_module(of.module.path));
    of.module.decodable = false;
    return;
  }
}

using Recognise = bool (*)(Recognition&);
constexpr std::array foreign_recognisers = {Recognise{recognise_fp8}, Recognise{recognise_fp4},
                                            Recognise{foreign::recognise_gptq_or_awq},
                                            Recognise{foreign::recognise_packed}, Recognise{foreign::recognise_int8}};

}  // namespace

void recognise_foreign_form(std::span<const mlx::TensorRef> tensors, TensorFinder& finder, const ForeignMethod& method,
                            Module& module, FindingLog& findings) {
  Recognition of{tensors, finder, method, module, findings};
  for (const std::string_view changed : {".pre_quant_scale", ".input_quantizer._pre_quant_scale", ".svdquant_lora_a"}) {
    if (finder.find(module.path, changed) == no_tensor) continue;
    findings.error(Scope::model, "hf-module-shape",
                   fmt::format("has {}, which changes its input; such modules cannot be converted", changed.substr(1)),
                   at_module(module.path));
    return;
  }
  for (const Recognise recognise : foreign_recognisers) {
    if (recognise(of)) break;
  }
  refuse_other_scales(of);
}

bool recognise_fp4_with_exponents(std::span<const mlx::TensorRef> tensors, TensorFinder& finder, Module& module,
                                  FindingLog& findings) {
  constexpr std::string_view suffix = ".scale";
  constexpr u64 group_bytes = 16;
  const mlx::TensorRef& codes = tensors[module.weight()];
  if (codes.type != TensorType::I8 || codes.shape.size() != 2) return false;
  const std::size_t scale = finder.find(module.path, suffix);
  if (scale == no_tensor || tensors[scale].type != TensorType::F8_E8M0) return false;
  module.quantized = true;
  module.planes[1] = scale;
  const std::array<u64, 2> wanted = {codes.shape[0], codes.shape[1] / group_bytes};
  const auto columns = checked_mul(codes.shape[1], u64{2});
  if (codes.shape[1] % group_bytes != 0 || !std::ranges::equal(tensors[scale].shape, wanted) || !columns ||
      element_count(codes.shape).value_or(0) == 0) {
    findings.error(Scope::model, "hf-module-shape",
                   fmt::format("scale has shape [{}], which does not fit the codes of shape [{}]",
                               joined(tensors[scale].shape), joined(codes.shape)),
                   at_module(module.path));
    return true;
  }
  module.shape = {codes.shape[0], *columns};
  module.form = mlx_form(mlx::default_params(mlx::Mode::mxfp4), TensorType::U8, TensorType::U8, TensorType::F32);
  module.decodable = true;
  return true;
}

bool is_fp8_stack(const mlx::TensorRef& tensor) {
  const std::string_view last = tensor.name.substr(tensor.name.rfind('.') + 1);
  return tensor.type == TensorType::F8_E4M3 && tensor.shape.size() == 3 && last != "weight" &&
         last.find("scale") == last.npos;
}

std::string_view module_of_codes(std::string_view name) {
  for (const std::string_view suffix : {".weight", ".qweight", ".weight_packed"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return {};
}

bool is_activation_scale(std::string_view name) {
  constexpr std::array<std::string_view, 8> endings = {
      "input_scale", "input_global_scale", "activation_scale", "k_scale", "v_scale",
      "q_scale",     "output_scale",       "input_zero_point"};
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return std::ranges::find(endings, last) != endings.end() || last.ends_with("_proj_activation_scale") ||
         last.ends_with("_proj_input_scale");
}

}  // namespace modelutils
