#include "model/weights.h"

#include <algorithm>

#include "forms/foreign_forms.h"
#include "tensor/shape.h"

namespace modelutils {

const Weight* Weights::of_codes(std::size_t place) const {
  const auto found = std::ranges::lower_bound(list, place, {}, [](const Weight& weight) { return weight.weight(); });
  return found == list.end() || found->weight() != place ? nullptr : &*found;
}

Weights settled_weights(const SafetensorsModel& model, const Catalog& catalog) {
  Weights weights;
  weights.parts = quantization_parts(model);
  const std::vector<mlx::TensorRef> refs = tensor_refs(model.set);
  const auto plane = [&](std::size_t place) { return catalog.plane_of(catalog.tensors[place]); };
  const auto is_lost = [&](std::size_t place) { return place != no_tensor && !catalog.tensors[place].is_readable(); };
  for (const Module& module : model.modules.list) {
    if (!module.quantized || !module.decodable || std::ranges::any_of(module.planes, is_lost)) continue;
    Weight weight{module, {}};
    if (Status settled = settle_foreign_form(refs, model.foreign, plane, weight); !settled) {
      if (!weights.broken) weights.broken = std::move(settled.error());
      continue;
    }
    weight.ne = reversed(weight.shape);
    weights.list.push_back(std::move(weight));
  }
  return weights;
}

}  // namespace modelutils
