// safetensors header writer with deterministic output, for tests, examples and tools that write the format.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/types.h"

namespace modelutils::safetensors {

/// A tensor to be written. layout() assigns its offsets.
struct OutTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<u64> shape;  ///< row-major, as in safetensors
};

struct OutOptions {
  bool pad_header = true;  ///< append spaces to the JSON until the data starts at a multiple of 8
};

/// The layout of the file to be written.
struct OutLayout {
  std::string header;                        ///< the header length (8 bytes), the JSON, and its padding
  std::vector<std::pair<u64, u64>> offsets;  ///< data_offsets, by tensor
  u64 file_size = 0;
};

using OutMetadata = std::vector<std::pair<std::string, std::string>>;

/// Encodes the header: `__metadata__` first, if any, then the tensors in the given order. Their data is contiguous.
/// Errors of kind input: "st-write-dtype" (a type the format does not have), "st-write-shape" (a size that overflows or
/// does not fill whole bytes), "st-write-name" (not UTF-8, `__metadata__`, or duplicate), "st-write-too-large" (a
/// header above the limit).
Result<OutLayout> layout(const OutMetadata& metadata, const std::vector<OutTensor>& tensors,
                         const OutOptions& options = {});

}  // namespace modelutils::safetensors
