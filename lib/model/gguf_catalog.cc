#include "model/gguf_catalog.h"

#include <limits>

#include "base/checked_math.h"
#include "base/path.h"

namespace modelutils {

GgufTensorPlace gguf_tensor_place(const gguf::Document& document, const gguf::TensorInfo& tensor) {
  GgufTensorPlace place;
  place.bytes = tensor.bytes();
  if (document.complete) place.offset = checked_add(document.data_offset, tensor.offset);
  const u64 file_size = document.file_size.value_or(std::numeric_limits<u64>::max());
  if (!place.bytes) {
    place.problem = "the tensor's type or size is not known";
  } else if (!place.offset || !fits(*place.offset, *place.bytes, file_size)) {
    place.problem = "the tensor's data is not in the file";
  }
  return place;
}

Catalog gguf_catalog(const gguf::SplitSet& set) {
  Catalog catalog;
  catalog.format = "gguf";
  for (const gguf::SetFile& file : set.files) {
    const gguf::Document& document = file.document;
    const std::size_t number = catalog.files.size();
    catalog.files.push_back({file.path, base_name_of(file.path), file.source});
    catalog.big_endian = catalog.big_endian || document.big_endian;
    for (const gguf::TensorInfo& tensor : document.tensors) {
      const GgufTensorPlace place = gguf_tensor_place(document, tensor);
      if (!place.problem.empty()) continue;
      catalog.tensors.push_back({tensor.name, tensor.type(), tensor.ne, number, *place.offset, *place.bytes});
    }
  }
  return catalog;
}

}  // namespace modelutils
