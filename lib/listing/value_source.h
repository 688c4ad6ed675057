// The values of a tensor in any format, for --values and --stats of the dumpers.
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

/// A tensor's readable values. The view or the catalog must outlive it.
struct ValueSource {
  std::string name;                       ///< raw text of the file
  std::string type;                       ///< form of the values: "Q4_K", "affine 4-bit, group 64"
  std::optional<TensorType> stored_type;  ///< type of the stored bytes
  bool first_is_fastest = false;          ///< the first dimension is the contiguous one
  bool packed = false;                    ///< a weight stored in several tensors
  std::vector<u64> shape;                 ///< logical, in the dimension order of the model's own format
  std::vector<u64> stored_shape;
  std::string problem;  ///< why the values cannot be read; if set, the members below are not
  u64 elements = 0;     ///< logical element count
  u64 bytes = 0;        ///< stored byte count
  std::shared_ptr<const TensorValues> values;
  StoredPlane stored;  ///< the stored bytes

  /// Reads any range of the stored bytes; the file must be little-endian. Errors: reading, "tensor-no-decoder".
  Status read_bytes(u64 offset, MutableBytes out) const;
};

/// A tensor of a view. Defined in its own file, so that small users do not link the view's dependencies.
ValueSource value_source(const ModelView& view, const ViewTensor& tensor);
/// A tensor of a catalog as stored; the shape in ne order.
ValueSource value_source(const Catalog& catalog, const CatalogTensor& tensor);
/// A tensor whose values cannot be read, with the reason.
ValueSource unreadable_source(std::string_view name, std::string_view type, std::span<const u64> shape,
                              std::string_view problem);

}  // namespace modelutils
