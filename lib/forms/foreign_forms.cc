#include "forms/foreign_forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/joined.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

bool is_float(std::optional<TensorType> type) {
  return type == TensorType::F32 || type == TensorType::BF16 || type == TensorType::F16;
}

// A recogniser: says whether the module has its form, whatever is wrong with it.
using Recognise = bool (*)(std::span<const mlx::TensorRef>, TensorFinder&, Module&, FindingLog&);

// "P.weight" F8_E4M3 and "P.weight_scale", one number for all of it.
bool recognise_scaled_fp8(std::span<const mlx::TensorRef> tensors, TensorFinder& finder, Module& module,
                          FindingLog& findings) {
  const mlx::TensorRef& weight = tensors[module.weight()];
  if (weight.type != TensorType::F8_E4M3) return false;
  const std::size_t scale = finder.find(module.path, ".weight_scale");
  if (scale == no_tensor || element_count(tensors[scale].shape) != u64{1} || tensors[scale].shape.size() > 1) {
    return false;
  }
  module.quantized = true;
  module.planes[1] = scale;
  if (!is_float(tensors[scale].type)) {
    findings.error(Scope::model, "hf-scale-type",
                   fmt::format("weight_scale is {}; it must be F32, BF16 or F16",
                               tensors[scale].type ? type_name(*tensors[scale].type) : "of unknown type"),
                   at_module(module.path));
    return true;
  }
  module.form = fp8_form(*tensors[scale].type);
  module.decodable = !weight.shape.empty() && element_count(weight.shape).value_or(0) > 0;
  return true;
}

constexpr std::array recognisers = {Recognise{recognise_scaled_fp8}};

}  // namespace

void recognise_foreign_form(std::span<const mlx::TensorRef> tensors, TensorFinder& finder, Module& module,
                            FindingLog& findings) {
  for (const Recognise recognise : recognisers) {
    if (recognise(tensors, finder, module, findings)) return;
  }
}

bool is_activation_scale(std::string_view name) {
  constexpr std::array<std::string_view, 7> endings = {
      "input_scale", "input_global_scale", "activation_scale", "k_scale", "v_scale", "q_scale", "output_scale"};
  return std::ranges::find(endings, name.substr(name.rfind('.') + 1)) != endings.end();
}

}  // namespace modelutils
