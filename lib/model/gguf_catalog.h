// The tensors of a GGUF model, in one file or split, as a catalog.
#pragma once

#include "gguf/split_set.h"
#include "model/tensor_catalog.h"

namespace modelutils {

/// Every tensor whose type and size are known and whose bytes lie inside its file; what is left out is for the rules to
/// say (rules/gguf/rules.h). Order: file by file, as the tensor infos stand.
Catalog gguf_catalog(const gguf::SplitSet& set);

/// Where a tensor's data is.
struct GgufTensorPlace {
  std::optional<u64> offset;  ///< absolute, in its file; nothing on overflow, or where the header breaks off
  std::optional<u64> bytes;   ///< without padding; nothing if the type is unknown or the size overflows
  std::string_view problem;   ///< why the catalog leaves the tensor out; empty if it does not
};
GgufTensorPlace gguf_tensor_place(const gguf::Document& document, const gguf::TensorInfo& tensor);

}  // namespace modelutils
