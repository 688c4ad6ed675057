// The source of a BUMPWGT entry's bytes: the recipe used for conversion and for verify --against.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// A GGUF tensor and its location.
struct LocatedTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<u64> ne;   ///< without trailing dimensions of 1
  std::size_t file = 0;  ///< index into the set's files
  u64 offset = 0;        ///< absolute offset in that file
  u64 bytes = 0;
};

/// A run of source bytes followed by zeros, repeated: a whole matrix (one run), packed heads (a run per head), padded
/// columns (a run per head of each row), or every second row of a head (a run per row, with a stride).
struct BumpPart {
  enum class Kind : u8 {
    zeros,
    copy,
    convert,  ///< block by block to another type without loss (transfer/exact_blocks.h)
    literal,  ///< bytes in memory, not repeated
  };
  Kind kind = Kind::zeros;
  TensorType type = TensorType::F32;  ///< source type, for convert
  TensorType to = TensorType::F32;    ///< entry type, for convert
  std::size_t file = 0;
  u64 offset = 0;  ///< absolute offset of the first run
  u64 repeat = 1;
  u64 stride = 0;  ///< distance between the starts of runs in the source; 0: contiguous
  u64 run = 0;     ///< source bytes per run
  u64 zeros = 0;   ///< zero bytes after each run
  std::shared_ptr<const std::string> literal = {};
};

/// Returns a whole tensor, not repeated.
inline BumpPart part_of(const LocatedTensor& tensor, BumpPart::Kind kind) {
  BumpPart part;
  part.kind = kind;
  part.type = tensor.type;
  part.to = tensor.type;
  part.file = tensor.file;
  part.offset = tensor.offset;
  part.run = tensor.bytes;
  return part;
}

/// Returns a whole tensor with elements of type `to`; copied if it already has that type.
inline BumpPart part_as(const LocatedTensor& tensor, TensorType to) {
  if (tensor.type == to) return part_of(tensor, BumpPart::Kind::copy);
  BumpPart part = part_of(tensor, BumpPart::Kind::convert);
  part.to = to;
  return part;
}

}  // namespace modelutils
