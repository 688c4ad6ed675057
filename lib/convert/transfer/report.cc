#include "convert/transfer/report.h"

namespace modelutils {

u64 TransferReport::inexact_tensors() const {
  return static_cast<u64>(
      std::count_if(tensors.begin(), tensors.end(), [](const TensorReport& tensor) { return tensor.exact == false; }));
}

u64 TransferReport::unmeasured_tensors() const {
  return static_cast<u64>(
      std::count_if(tensors.begin(), tensors.end(), [](const TensorReport& tensor) { return !tensor.exact; }));
}

u64 TransferReport::bytes() const {
  u64 sum = 0;
  for (const OutputFile& file : files) sum += file.bytes;
  return sum;
}

}  // namespace modelutils
