#include "listing/listing.h"

#include <algorithm>

#include "base/glob.h"

namespace modelutils {

std::optional<u64> ListedTensor::bytes() const {
  return stored->unreadable == Unreadable::unknown_size ? std::nullopt : std::optional(stored->bytes);
}

std::optional<u64> ListedTensor::data_offset() const {
  return stored->offset == Tensor::nowhere ? std::nullopt : std::optional(stored->offset);
}

bool selects(const std::vector<std::string>& globs, std::string_view name) {
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) { return glob_match(glob, name); });
}

const Tensor* ListingSource::find_tensor(std::string_view name) const {
  const Tensor* readable = model_.safetensors ? model_.find(name) : model_.catalog().find(name);
  if (readable != nullptr) return readable;
  const auto found = std::ranges::find(model_.catalog().tensors, name, &Tensor::name);
  return found == model_.catalog().tensors.end() ? nullptr : &*found;
}

void ListingSource::each_tensor_name(const NameVisitor& visit) const {
  for (const Tensor& tensor : model_.catalog().tensors) visit(tensor.name);
}

std::unique_ptr<ListingSource> listing_of(const Model& model) {
  if (model.gguf) return gguf_listing(model);
  if (model.safetensors) return safetensors_listing(model);
  return model.importance ? imatrix_listing(model) : nullptr;
}

}  // namespace modelutils
