#include "to_bump/part.h"

namespace modelutils {

BumpPart part_of(const LocatedTensor& tensor, BumpPart::Kind kind) {
  BumpPart part;
  part.kind = kind;
  part.type = tensor.type;
  part.to = tensor.type;
  part.file = tensor.file;
  part.offset = tensor.offset;
  part.run = tensor.bytes;
  return part;
}

BumpPart part_as(const LocatedTensor& tensor, TensorType to) {
  if (tensor.type == to) return part_of(tensor, BumpPart::Kind::copy);
  BumpPart part = part_of(tensor, BumpPart::Kind::convert);
  part.to = to;
  return part;
}

}  // namespace modelutils
