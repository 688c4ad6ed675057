#include "compare/tensor_changes.h"

#include "base/name_index.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

struct Tensors {
  Tensors(std::span<const ComparedTensor> all, const std::vector<std::string>& ignored) {
    names.reserve(all.size());
    for (const ComparedTensor& tensor : all) {
      if (!ignored.empty() && selects(ignored, tensor.name)) continue;
      if (names.insert(tensor.name).is_new) list.push_back(&tensor);
    }
  }
  const ComparedTensor* find(std::string_view name) const {
    const std::optional<u32> place = names.find(name);
    return place ? list[*place] : nullptr;
  }

  NameIndex names;
  std::vector<const ComparedTensor*> list;
};

}  // namespace

TensorChanges compare_tensors(std::span<const ComparedTensor> a, std::span<const ComparedTensor> b,
                              const std::vector<std::string>& ignored) {
  const Tensors left(a, ignored);
  const Tensors right(b, ignored);
  TensorChanges changes;
  for (const ComparedTensor* tensor : left.list) {
    const TensorPair pair{tensor, right.find(tensor->name)};
    if (pair.b == nullptr) {
      changes.removed.push_back(tensor);
    } else if (!is_same_shape(tensor->ne, pair.b->ne)) {
      changes.reshaped.push_back(pair);
    } else {
      changes.same_shape.push_back(pair);
      if (pair.is_retyped()) ++changes.retyped;
    }
  }
  for (const ComparedTensor* tensor : right.list) {
    if (left.find(tensor->name) == nullptr) changes.added.push_back(tensor);
  }
  return changes;
}

}  // namespace modelutils
