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
  source.packed = tensor.is_packed();
  source.shape = in_order(tensor.ne);
  source.stored_shape = in_order(stored.ne);
  source.elements = tensor.elements;
  source.bytes = stored.bytes;
  source.values = std::make_shared<MatrixValues>(view.values(tensor));
  source.stored = plane_of(view.catalog(), stored);
  return source;
}

}  // namespace modelutils
