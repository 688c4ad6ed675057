// What the tensors of a directory are called, in either style.
#pragma once

#include <string>

#include "arch/expected_tensors.h"
#include "arch/family.h"
#include "arch/names.h"
#include "base/types.h"
#include "to_directory/tensor_map.h"

namespace modelutils {

class DirectoryNames {
 public:
  /// `family` must outlive it.
  DirectoryNames(const arch::Family& family, DirectoryStyle style) : family_(&family), style_(style) {}

  /// "model.layers.3."
  std::string layer_prefix(u64 layer) const;
  /// Of the tensor that a part of a row's source is; `number`: of the expert, where each has one.
  std::string of_part(const arch::ExpectedTensor& expected, const arch::SourcePart& part, u64 number) const;
  /// The whole name, which in a multimodal class is below that of its language model.
  std::string published(std::string name) const;

 private:
  const arch::Family* family_;
  DirectoryStyle style_;
};

}  // namespace modelutils
