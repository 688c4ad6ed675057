// Reading what a directory's tensor is made of: rows of GGUF tensors as stored, and values.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "model/tensor_catalog.h"
#include "to_directory/tensor_map.h"

namespace modelutils {

/// For one thread; buffers are kept between calls.
class DirectoryReader {
 public:
  DirectoryReader(const Catalog& catalog, const DirectoryTensor& tensor);

  /// The type that all parts have; nothing if they differ, or there are none.
  std::optional<TensorType> type() const { return type_; }

  /// Rows [first, first + count) as stored, one after another. Precondition: type(), units are rows, and `out` has
  /// their bytes.
  Status read_rows(u64 first, u64 count, MutableBytes out);

  /// The values of units [first, first + count), what was done to them undone. Of large tensors whose elements change
  /// places a range is best made of many whole rows of the shape. Errors: reading, "tensor-no-decoder".
  Status read_values(u64 first, u64 count, std::vector<float>& out);

  /// What the last read_values() lost, since values are float32: something of F64 alone.
  struct Rounding {
    double squared_error = 0;
    double max_abs = 0;
  };
  const Rounding& rounding() const { return rounding_; }

 private:
  struct Source {
    PartUnits units;
    const CatalogTensor* tensor;
  };
  void decode(TensorType type, Bytes bytes, std::span<float> out);
  Status read_part_rows(const Source& source, u64 first, u64 count, MutableBytes out);
  void multiply(const Source& source, u64 first, u64 count, std::span<float> out) const;
  Status read_elements(const Source& source, u64 first, u64 count, std::span<float> out);

  const Catalog& catalog_;
  const DirectoryTensor& tensor_;
  std::vector<Source> sources_;
  std::optional<TensorType> type_;
  Rounding rounding_;
  std::vector<std::byte> bytes_;
  std::vector<u64> elements_;
  std::vector<float> strip_;
};

/// How many rows of the shape to read at once of a tensor whose elements change places: about a million elements, but
/// enough rows that the source's blocks, which are decoded for them, are used.
u64 rows_at_once(const DirectoryTensor& tensor);

}  // namespace modelutils
