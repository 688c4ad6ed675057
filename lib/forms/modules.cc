#include "forms/modules.h"

#include "base/name_index.h"
#include "forms/foreign_forms.h"

namespace modelutils {

namespace {

class NamedTensors : public TensorFinder {
 public:
  explicit NamedTensors(std::span<const mlx::TensorRef> tensors) {
    names_.reserve(tensors.size());
    places_.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (names_.insert(tensors[i].name).is_new) places_.push_back(i);
    }
  }

  std::size_t find(std::string_view module, std::string_view suffix) override {
    scratch_.assign(module);
    scratch_ += suffix;
    const std::optional<u32> number = names_.find(scratch_);
    return number ? places_[*number] : no_tensor;
  }

 private:
  NameIndex names_;
  std::vector<std::size_t> places_;
  std::string scratch_;
};

Module module_of(const mlx::Module& found, std::span<const mlx::TensorRef> tensors) {
  Module module;
  module.path = found.path;
  module.planes[0] = found.weight;
  module.shape = found.shape;
  module.quantized = found.quantized;
  module.decodable = found.decodable;
  if (!found.quantized) return module;
  module.planes[1] = found.scales;
  module.planes[2] = found.biases;
  if (!found.params) return module;
  const auto type_of = [&](std::size_t place) {
    return place == no_tensor ? TensorType::F32 : tensors[place].type.value_or(TensorType::U8);
  };
  module.form = mlx_form(*found.params, type_of(found.weight), type_of(found.scales), type_of(found.biases));
  return module;
}

}  // namespace

Modules find_stored_modules(std::span<const mlx::TensorRef> tensors, const mlx::Quantization& quantization,
                            const ForeignMethod& foreign) {
  mlx::Modules found = mlx::find_modules(tensors, quantization);
  Modules modules;
  modules.findings = std::move(found.findings);
  modules.list.reserve(found.list.size());
  for (const mlx::Module& module : found.list) modules.list.push_back(module_of(module, tensors));
  if (!foreign.is_known) return modules;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string_view name = tensors[i].name;
    const bool is_stack = is_fp8_stack(tensors[i]);
    if (!is_stack && !name.ends_with(".qweight") && !name.ends_with(".weight_packed")) continue;
    Module& module = modules.list.emplace_back();
    module.path = is_stack ? name : module_of_codes(name);
    module.planes[0] = i;
    module.shape.assign(tensors[i].shape.begin(), tensors[i].shape.end());
  }
  std::ranges::stable_sort(modules.list, {}, [](const Module& module) { return module.weight(); });
  NamedTensors names(tensors);
  for (Module& module : modules.list) recognise_foreign_form(tensors, names, foreign, module, modules.findings);
  return modules;
}

}  // namespace modelutils
