#include "listing/value_source.h"

#include <fmt/core.h>

#include "base/checked_math.h"

namespace modelutils {

ValueSource value_source(const Catalog& catalog, const CatalogTensor& tensor) {
  ValueSource source;
  source.name = tensor.name;
  source.type = tensor.type ? type_name(*tensor.type) : "unknown";
  source.stored_type = tensor.type;
  source.shape = source.stored_shape = tensor.ne;
  source.elements = checked_product(tensor.ne).value_or(0);
  source.bytes = tensor.bytes;
  source.first_is_fastest = true;
  source.read_values = [&](u64 first, std::span<float> out) { return read_value_range(catalog, tensor, first, out); };
  source.read_bytes = [&](u64 offset, MutableBytes out) -> Status {
    if (catalog.big_endian) {
      return input_error("tensor-no-decoder", "values of a big-endian file cannot be decoded", at_tensor(tensor.name));
    }
    return catalog.files[tensor.file].source->read_exact(tensor.offset + offset, out);
  };
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
