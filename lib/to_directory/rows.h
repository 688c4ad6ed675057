// Reads the source of a directory's tensor from a GGUF: rows as stored, or values.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "model/catalog.h"
#include "to_directory/tensor_map.h"

namespace modelutils {

/// Used by one thread; reuses its buffers between calls.
class DirectoryReader {
 public:
  DirectoryReader(const Catalog& catalog, const DirectoryTensor& tensor);

  /// Returns the type of all parts, or nullopt if they differ or there are none.
  std::optional<TensorType> type() const { return type_; }

  /// Reads rows [first, first + count) as stored, contiguously. Precondition: type() has a value, units are rows, and
  /// `out` has the size of the rows. Errors: those of reading.
  Status read_rows(u64 first, u64 count, MutableBytes out);

  /// Reads the values of units [first, first + count), with the family's operation undone. For large tensors with
  /// `by_element`, request many whole rows of the shape at once. Errors: those of reading, "tensor-no-decoder".
  Status read_values(u64 first, u64 count, std::vector<float>& out);

  /// The error of converting the last read_values() to float32; non-zero only for F64.
  struct Rounding {
    double squared_error = 0;
    double max_abs = 0;
  };
  const Rounding& rounding() const { return rounding_; }

 private:
  struct Source {
    PartUnits units;
    const Tensor* tensor;
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

/// Returns how many rows to read at once from a tensor with `by_element`: about a million elements, but enough rows
/// that most of each decoded source block is used.
u64 rows_at_once(const DirectoryTensor& tensor);

}  // namespace modelutils
