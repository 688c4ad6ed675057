// The values of a tensor, whatever its format: what --values and --stats of the dumpers read from.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/tensor_catalog.h"

namespace modelutils {

class ModelView;
struct ViewTensor;

/// A tensor, wherever it comes from. What the view or the catalog holds must outlive it.
struct ValueSource {
  std::string name;                       ///< raw text of the file
  std::string type;                       ///< what the values are: "Q4_K", "affine 4-bit, group 64"
  std::optional<TensorType> stored_type;  ///< what the bytes are
  bool first_is_fastest = false;          ///< the first dimension is the contiguous one
  bool packed = false;                    ///< a weight that is made of several stored tensors
  std::vector<u64> shape;                 ///< logical, in the order of the model's own format, like the next
  std::vector<u64> stored_shape;
  std::string problem;  ///< why the values cannot be read; then nothing below is set
  u64 elements = 0;     ///< logical
  u64 bytes = 0;        ///< stored
  std::shared_ptr<const TensorValues> values;
  StoredPlane stored;  ///< of `bytes` bytes

  /// Any range of the stored bytes, which must be those of a machine of today. Errors: reading, "tensor-no-decoder".
  Status read_bytes(u64 offset, MutableBytes out) const;
};

/// A tensor of a view. (In a file of its own: who needs no view need not link what views need.)
ValueSource value_source(const ModelView& view, const ViewTensor& tensor);
/// A tensor of a catalog as it is stored; the shape in ne order.
ValueSource value_source(const Catalog& catalog, const CatalogTensor& tensor);
/// A tensor whose values cannot be read, and why.
ValueSource unreadable_source(std::string_view name, std::string_view type, std::span<const u64> shape,
                              std::string_view problem);

}  // namespace modelutils
