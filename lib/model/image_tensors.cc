#include "model/image_tensors.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/types.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "tensor/types.h"

namespace modelutils {

StatedShape stated_image_shape(const gguf::SetFile& file, const gguf::KeyValue& entry, std::span<const u64> ne) {
  const auto* array = std::get_if<gguf::ArrayRef>(&entry.value);
  if (array == nullptr || array->element_type != gguf::ValueType::i32) {
    const std::string type = array == nullptr
                                 ? std::string(gguf::short_type_name(entry.type()))
                                 : fmt::format("an array of {}", gguf::short_type_name(array->element_type));
    return {.problem = fmt::format("is {}, it must be an array of i32", type)};
  }
  if (array->count == 0 || array->count > gguf::max_dims) {
    return {.problem = fmt::format("has {} numbers, 1 to {} are allowed", array->count, gguf::max_dims)};
  }
  const auto numbers = gguf::read_numbers<i64>(*file.source, file.document, *array);
  if (!numbers) return {.problem = "cannot be read"};
  std::vector<u64> shape;
  for (const i64 number : *numbers) {
    if (number < 1) return {.problem = fmt::format("contains {}, which is no size", number)};
    shape.push_back(static_cast<u64>(number));
  }
  const std::vector<u64> original = reversed(shape);
  const std::optional<u64> stored = element_count(ne), stated = element_count(original);
  if (!stored || stated != stored) {
    return {.problem = fmt::format("is {}, which has not as many elements as the tensor ({})", shape_text(shape),
                                   shape_text(ne))};
  }
  return {.ne = original};
}

std::vector<std::optional<ImageTensor>> image_tensors(const gguf::SplitSet& set, const arch::ImageLayout& layout) {
  const gguf::SetFile& first = set.files.front();
  const gguf::Index keys(first.document);
  std::vector<std::optional<ImageTensor>> tensors;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      std::optional<ImageTensor>& entry = tensors.emplace_back();
      const std::string_view name = tensor.name;
      if (!layout.has(name)) continue;
      entry = ImageTensor{name.substr(layout.prefix.size()), tensor.ne};
      const gguf::KeyValue* key = keys.key(fmt::format("{}{}", arch::image_shape_key, name));
      if (key == nullptr) continue;
      if (StatedShape stated = stated_image_shape(first, *key, tensor.ne); stated.problem.empty()) {
        entry->ne = std::move(stated.ne);
      }
    }
  }
  return tensors;
}

}  // namespace modelutils
