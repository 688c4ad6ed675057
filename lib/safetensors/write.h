// safetensors header writer: deterministic, for tests, examples and tools that write the format.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/types.h"

namespace modelutils::safetensors {

/// A tensor to be written. Its offsets are decided by layout().
struct OutTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<u64> shape;  ///< row-major, as safetensors has it
};

struct OutOptions {
  bool pad_header = true;  ///< spaces behind the JSON until the data starts at a multiple of 8
};

/// Where everything stands in the file to be.
struct OutLayout {
  std::string header;                        ///< the 8 bytes of its length, the JSON, its padding
  std::vector<std::pair<u64, u64>> offsets;  ///< data_offsets, by tensor
  u64 file_size = 0;
};

using OutMetadata = std::vector<std::pair<std::string, std::string>>;

/// Encodes the header: `__metadata__` first if there is any, then the tensors in the order given, their data one after
/// another without holes. Errors of kind input: "st-write-dtype" (a type the format has not), "st-write-shape" (a size
/// that does not fit, or that fills no whole bytes), "st-write-name" (no UTF-8, `__metadata__`, or twice),
/// "st-write-too-large" (a header above the cap).
Result<OutLayout> layout(const OutMetadata& metadata, const std::vector<OutTensor>& tensors,
                         const OutOptions& options = {});

}  // namespace modelutils::safetensors
