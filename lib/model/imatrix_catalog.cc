#include "model/imatrix_catalog.h"

#include "base/path.h"
#include "model/format.h"

namespace modelutils {

Catalog imatrix_catalog(const quantize::ImportanceMatrix& matrix) {
  Catalog catalog;
  catalog.format = format_info(Format::imatrix).name;
  catalog.files.push_back({matrix.path(), base_name_of(matrix.path()), matrix.source()});
  for (const quantize::ImportanceEntry& entry : matrix.entries()) {
    catalog.tensors.push_back({.name = entry.name,
                               .type = TensorType::F32,
                               .ne = {entry.values},
                               .file = 0,
                               .offset = entry.sums_offset,
                               .bytes = 4 * entry.values});
  }
  return catalog;
}

}  // namespace modelutils
