#include "model/safetensors_catalog.h"

namespace modelutils {

Catalog safetensors_catalog(const safetensors::ShardSet& set) {
  Catalog catalog;
  catalog.format = "safetensors";
  for (const safetensors::ShardFile& file : set.files) {
    catalog.files.push_back({file.path, file.base_name, file.source});
  }
  catalog.tensors.reserve(set.tensors.size());
  for (const safetensors::TensorRef ref : set.tensors) {
    const safetensors::Document& document = set.file(ref).document;
    const safetensors::Tensor& tensor = set.tensor(ref);
    if (!document.holds(tensor)) continue;
    if (tensor.type && tensor.expected_bytes() != tensor.bytes()) continue;
    catalog.tensors.push_back({std::string(tensor.name), tensor.type, tensor.ne(), ref.file,
                               document.data_offset + tensor.begin, tensor.bytes()});
  }
  return catalog;
}

}  // namespace modelutils
