#include <fmt/core.h>

#include "base/escape.h"
#include "report/layer_grid.h"
#include "report/listing_forms.h"

namespace modelutils {

namespace {

GridTensor grid_tensor(const Listing& listing, const ListedTensor& tensor) {
  if (tensor.module == ListedTensor::no_module)
    return {tensor.name(), escape(tensor.type_name), type_paint(tensor.type())};
  const ListedModule& module = listing.modules[tensor.module];
  const bool has_one_form = module.mode != "affine";  // the FP modes have fixed bits and group size
  return {tensor.name(),
          has_one_form ? std::string(module.mode) : fmt::format("{}-bit/{}", module.bits, module.group_size),
          bits_paint(static_cast<double>(module.bits))};
}

// Returns an adapter's target matrices with rank and scale.
std::vector<GridTensor> grid_of_targets(const AdapterFacts& adapter) {
  std::vector<GridTensor> tensors;
  for (const AdapterTarget& target : adapter.targets) {
    tensors.push_back({target.name, fmt::format("{} ×{:.4g}", target.rank, target.scale), Paint::plain});
  }
  return tensors;
}

}  // namespace

std::vector<GridTensor> grid_tensors(const Listing& listing) {
  if (listing.facts.adapter && !listing.facts.adapter->targets.empty()) return grid_of_targets(*listing.facts.adapter);
  std::vector<GridTensor> tensors;
  tensors.reserve(listing.tensors.size());
  for (const ListedTensor& tensor : listing.tensors) {
    if (!tensor.is_part) tensors.push_back(grid_tensor(listing, tensor));
  }
  return tensors;
}

Status write_listing_layers(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  const Style style(options.color);
  if (options.several) out << style(Paint::title, escape(listing.path)) << "\n";
  write_layer_grid(out, grid_tensors(listing), {options.width, style});
  return {};
}

}  // namespace modelutils
