#include "arch/stacks.h"

#include <fmt/core.h>

#include <algorithm>

namespace modelutils::arch {

std::string_view stack_of(const Tensor& row) {
  for (const std::string_view stack : {std::string_view("enc."), std::string_view("dec.")}) {
    if (row.name.starts_with(stack)) return stack;
  }
  return {};
}

bool has_stacks(const Family& family) {
  const auto* groups = family.layer_tensors.begin();
  return groups != family.layer_tensors.end() && !groups->empty() && !stack_of(groups->front()).empty();
}

std::string module_in_layer(const Tensor& row, std::string_view prefixes, u64 layer, std::string_view module) {
  std::string_view prefix = first_name(prefixes);
  if (!stack_of(row).empty()) {
    const std::string_view stack = module.substr(0, module.find('.') + 1);
    for_each_name(prefixes, [&](std::string_view one) {
      if (one.starts_with(stack)) prefix = one;
    });
    module.remove_prefix(stack.size());
  }
  return fmt::format("{}{}.{}", prefix, layer, module);
}

u64 layers_of_stacks(const Family& family, const Sizes& sizes) {
  const u64 layers = sizes.get(symbol::layers);
  return has_stacks(family) ? std::max(layers, sizes.get(symbol::decoder_layers)) : layers;
}

}  // namespace modelutils::arch
