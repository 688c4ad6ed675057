#include "model/safetensors_catalog.h"

#include "base/large_pages.h"

namespace modelutils {

std::string_view safetensors_tensor_problem(const safetensors::Document& document, const safetensors::Tensor& tensor) {
  if (!document.holds(tensor)) return "the tensor's data is not in the file";
  const bool is_of_its_size = !tensor.type || tensor.expected_bytes() == tensor.bytes();
  return is_of_its_size ? "" : "the tensor's range does not fit its dtype and shape";
}

Catalog safetensors_catalog(const safetensors::ShardSet& set) {
  Catalog catalog;
  catalog.format = "safetensors";
  for (const safetensors::ShardFile& file : set.files) {
    catalog.files.push_back({file.path, file.base_name, file.source});
  }
  reserve_to_fill(catalog.tensors, set.tensors.size());
  for (const safetensors::TensorRef ref : set.tensors) {
    const safetensors::Document& document = set.file(ref).document;
    const safetensors::Tensor& tensor = set.tensor(ref);
    if (!safetensors_tensor_problem(document, tensor).empty()) continue;
    catalog.tensors.push_back({std::string(tensor.name), tensor.type, tensor.ne(), ref.file,
                               document.data_offset + tensor.begin, tensor.bytes()});
  }
  return catalog;
}

}  // namespace modelutils
