#include "to_directory/report.h"

#include <algorithm>

namespace modelutils::to_directory {

u64 DirectoryReport::inexact_tensors() const {
  return static_cast<u64>(
      std::count_if(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.exact == false; }));
}

u64 DirectoryReport::unmeasured_tensors() const {
  return static_cast<u64>(
      std::count_if(tensors.begin(), tensors.end(), [](const auto& tensor) { return !tensor.exact; }));
}

u64 DirectoryReport::bytes() const {
  u64 sum = 0;
  for (const OutputFile& file : files) sum += file.bytes;
  return sum;
}

}  // namespace modelutils::to_directory
