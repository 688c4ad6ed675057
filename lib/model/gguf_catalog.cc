#include "model/gguf_catalog.h"

#include <limits>

#include "base/checked_math.h"
#include "base/path.h"

namespace modelutils {

Catalog gguf_catalog(const gguf::SplitSet& set) {
  Catalog catalog;
  catalog.format = "gguf";
  for (const gguf::SetFile& file : set.files) {
    const gguf::Document& document = file.document;
    const std::size_t number = catalog.files.size();
    catalog.files.push_back({file.path, base_name_of(file.path), file.source});
    catalog.big_endian = catalog.big_endian || document.big_endian;
    if (!document.complete) continue;  // where the data begins is not known
    const u64 file_size = document.file_size.value_or(std::numeric_limits<u64>::max());
    for (const gguf::TensorInfo& tensor : document.tensors) {
      const std::optional<u64> bytes = tensor.bytes();
      const std::optional<u64> offset = checked_add(document.data_offset, tensor.offset);
      if (!bytes || !offset || !fits(*offset, *bytes, file_size)) continue;
      catalog.tensors.push_back({tensor.name, tensor.type(), tensor.ne, number, *offset, *bytes});
    }
  }
  return catalog;
}

}  // namespace modelutils
