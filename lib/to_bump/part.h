// Where the bytes of a BUMPWGT entry come from: the recipe that the converter streams by and verify --against compares
// by.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// A GGUF tensor where it stands.
struct LocatedTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<u64> ne;   ///< without trailing ones
  std::size_t file = 0;  ///< index into the set's files
  u64 offset = 0;        ///< absolute in that file
  u64 bytes = 0;
};

/// A run of source bytes followed by zeros, repeated: whole matrices (once), packed heads (a run for each head), padded
/// columns (a run for each head of each row), every second row of a head (a run for each row, with a stride).
struct BumpPart {
  enum class Kind : u8 {
    zeros,
    copy,
    convert,  ///< block by block into another type, without loss (transfer/exact_blocks.h)
    literal,  ///< bytes in memory, once
  };
  Kind kind = Kind::zeros;
  TensorType type = TensorType::F32;  ///< of the source, for convert
  TensorType to = TensorType::F32;    ///< of the entry, for convert
  std::size_t file = 0;
  u64 offset = 0;  ///< absolute offset of the first run
  u64 repeat = 1;
  u64 stride = 0;  ///< from the beginning of a run to that of the next in the source; 0: one stands behind the other
  u64 run = 0;     ///< source bytes of one run
  u64 zeros = 0;   ///< bytes behind each run
  std::shared_ptr<const std::string> literal = {};
};

/// All of a tensor, once.
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

/// All of a tensor as elements of type `to`: copied if it is of that type.
inline BumpPart part_as(const LocatedTensor& tensor, TensorType to) {
  if (tensor.type == to) return part_of(tensor, BumpPart::Kind::copy);
  BumpPart part = part_of(tensor, BumpPart::Kind::convert);
  part.to = to;
  return part;
}

}  // namespace modelutils
