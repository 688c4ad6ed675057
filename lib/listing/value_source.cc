#include "listing/value_source.h"

#include <fmt/core.h>

#include "base/checked_math.h"

namespace modelutils {

Status ValueSource::read_bytes(u64 offset, MutableBytes out) const {
  if (values->form().big_endian) {
    return input_error("tensor-no-decoder", "values of a big-endian file cannot be decoded", at_tensor(name));
  }
  return stored.file->read_exact(stored.offset + offset, out);
}

ValueSource value_source(const Catalog& catalog, const CatalogTensor& tensor) {
  ValueSource source;
  source.name = tensor.name;
  source.type = tensor.type ? type_name(*tensor.type) : "unknown";
  source.stored_type = tensor.type;
  source.shape = source.stored_shape = tensor.ne;
  source.elements = checked_product(tensor.ne).value_or(0);
  source.bytes = tensor.bytes;
  source.first_is_fastest = true;
  source.values = std::make_shared<MatrixValues>(values_of(catalog, tensor));
  source.stored = plane_of(catalog, tensor);
  return source;
}

ValueSource unreadable_source(std::string_view name, std::string_view type, std::span<const u64> shape,
                              std::string_view problem) {
  ValueSource source;
  source.name = name;
  source.type = type;
  source.shape.assign(shape.begin(), shape.end());
  source.problem = problem;
  return source;
}

}  // namespace modelutils
