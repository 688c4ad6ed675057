#include "model/tensor_catalog.h"

#include <algorithm>

#include "base/checked_math.h"

namespace modelutils {

const CatalogTensor* Catalog::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &CatalogTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

StoredForm form_of(const Catalog& catalog, const CatalogTensor& tensor) {
  StoredForm form = tensor.type ? plain_form(*tensor.type) : opaque_form();
  form.big_endian = catalog.big_endian;
  return form;
}

StoredPlane plane_of(const Catalog& catalog, const CatalogTensor& tensor) {
  return {catalog.files[tensor.file].source.get(), tensor.offset};
}

StoredMatrix matrix_of(const Catalog& catalog, const CatalogTensor& tensor) {
  StoredMatrix matrix;
  matrix.form = form_of(catalog, tensor);
  matrix.elements = tensor.type ? checked_product(tensor.ne).value_or(0) : tensor.bytes;
  matrix.columns = tensor.ne.empty() ? 1 : tensor.ne.front();
  matrix.planes[0] = plane_of(catalog, tensor);
  return matrix;
}

MatrixValues values_of(const Catalog& catalog, const CatalogTensor& tensor) {
  return MatrixValues(matrix_of(catalog, tensor), tensor.name, catalog.files[tensor.file].path);
}

}  // namespace modelutils
