// Encodes rows of GGUF tensors for a directory's tensors: packed words, scales and biases, or plain values.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "mlx/quantize.h"
#include "model/catalog.h"
#include "to_directory/forms.h"
#include "to_directory/rows.h"
#include "to_directory/tensor_map.h"
#include "transfer/report.h"
#include "transfer/value_sums.h"

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
