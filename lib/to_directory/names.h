// Builds the names of a directory's tensors in either style.
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

  /// Returns a prefix such as "model.layers.3.".
  std::string layer_prefix(u64 layer) const;
  /// Returns the name of the source tensor for one part of a row. `number` is the expert, if each expert has its own
  /// tensor.
  std::string of_part(const arch::ExpectedTensor& expected, const arch::SourcePart& part, u64 number) const;
  /// Returns the full name. In a multimodal class it includes the language model's prefix.
  std::string published(std::string name) const;

 private:
  const arch::Family* family_;
  DirectoryStyle style_;
};

}  // namespace modelutils
