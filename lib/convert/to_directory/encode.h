// Reads rows of GGUF tensors, as stored or as values, and encodes them for a directory's tensors: packed words, scales
// and biases, or plain values.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "convert/to_directory/forms.h"
#include "convert/to_directory/tensor_map.h"
#include "model/catalog.h"
#include "model/mlx/quantize.h"
#include "tensor/value_sums.h"

namespace modelutils {

// Reads the source of a directory's tensor from a GGUF: rows as stored, or values.

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

namespace modelutils::to_directory {

/// Bytes per row of the shape, for each tensor that a module is stored as.
struct EncodedSizes {
  u64 weight = 0;  ///< packed words, or plain values
  u64 scales = 0;  ///< 0 if not packed
  u64 biases = 0;  ///< 0 except in affine mode
};
/// Returns the sizes for a tensor in this form.
EncodedSizes encoded_sizes(const DirectoryTensor& tensor, const DirectoryForm& form);

/// Output buffers for some rows.
struct EncodedPiece {
  MutableBytes weight, scales, biases;
};

/// Encodes one tensor on one thread.
class DirectoryEncoder {
 public:
  DirectoryEncoder(const Catalog& catalog, const DirectoryTensor& tensor, const DirectoryForm& form)
      : tensor_(tensor), form_(form), reader_(catalog, tensor) {}

  /// Encodes rows [first, first + count) of the shape; `out` has encoded_sizes() bytes per row. If `error` is not null,
  /// accumulates the difference from the exact values in it (except for FormWay::blocks). Errors: those of reading.
  Status encode(u64 first, u64 count, const EncodedPiece& out, ValueSums* error);

 private:
  Status encode_blocks(u64 first, u64 count, const EncodedPiece& out);
  // These encode values_, which are whole rows.
  void encode_plain(const EncodedPiece& out, ValueSums* error);
  void encode_groups(const EncodedPiece& out, ValueSums* error);
  void quantize_groups(std::span<const float> values, std::span<u8> codes, std::span<mlx::ScaleAndBias> lattices) const;

  const DirectoryTensor& tensor_;
  const DirectoryForm& form_;
  DirectoryReader reader_;
  std::vector<std::byte> rows_;
  std::vector<float> values_, carried_;
};

}  // namespace modelutils::to_directory
