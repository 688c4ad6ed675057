#include "model/bump5_catalog.h"

#include "base/checked_math.h"
#include "base/path.h"

namespace modelutils {

Catalog bump5_catalog(std::shared_ptr<ByteSource> source, std::span<const bump5::Entry> entries,
                      const bump5::Header& header, std::string_view format) {
  Catalog catalog;
  catalog.format = format;
  const std::string path = source->name();
  const u64 size = source->size().value_or(0);
  catalog.files.push_back({path, base_name_of(path), std::move(source)});
  for (const bump5::Entry& entry : entries) {
    if (!fits(entry.offset, entry.size, size)) continue;
    const bump::Shape shape = bump5::shape_of(entry.slot.role, header).value_or(bump::Shape{});
    CatalogTensor tensor;
    tensor.name = entry.name();
    tensor.type = entry.type();
    tensor.ne = shape.rows == 1 ? std::vector<u64>{shape.columns} : std::vector<u64>{shape.columns, shape.rows};
    tensor.offset = entry.offset;
    tensor.bytes = entry.size;
    catalog.tensors.push_back(std::move(tensor));
  }
  return catalog;
}

}  // namespace modelutils
