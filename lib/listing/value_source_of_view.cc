#include "listing/value_source.h"
#include "model/model_view.h"
#include "tensor/shape.h"

namespace modelutils {

ValueSource value_source(const ModelView& view, const ViewTensor& tensor) {
  const CatalogTensor& stored = view.catalog().tensors[tensor.stored];
  const auto in_order = [&](std::span<const u64> ne) {
    return view.gguf() != nullptr ? std::vector<u64>(ne.begin(), ne.end()) : reversed(ne);
  };
  ValueSource source;
  source.name = std::string(tensor.name);
  source.type = type_text(tensor);
  source.stored_type = stored.type;
  source.packed = tensor.packing.has_value();
  source.shape = in_order(tensor.ne);
  source.stored_shape = in_order(stored.ne);
  source.elements = tensor.elements;
  source.bytes = stored.bytes;
  source.read_values = [&](u64 first, std::span<float> out) { return view.read_values(tensor, first, out); };
  source.read_bytes = [&](u64 offset, MutableBytes out) { return view.read_bytes(tensor, offset, out); };
  return source;
}

}  // namespace modelutils
