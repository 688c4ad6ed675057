// The tensors that a projector's rows describe, in both directions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arch/loader_forms.h"
#include "arch/projector_family.h"
#include "arch/sizes.h"

namespace modelutils::arch {

/// A tensor that a tower must or may have. `layer` is the repetition's number, as in the source's name.
struct TowerTensor : ExpectedTensor {
  std::size_t group = 0;
  std::string prefix = {};  ///< prefix of its sources: root and group, with the number
  bool is_kernel = false;   ///< the runtime reads it only as F32 or F16
};

/// Replaces '#' by a number.
std::string numbered(std::string_view text, u64 number);

/// Returns the tensors of a group whose conditions hold, without prefixes. `numbers` are the layer numbers in the
/// GGUF's names.
std::vector<TowerTensor> tower_tensors(const ProjectorGroup& group, std::size_t number_of_group,
                                       const std::vector<u64>& numbers, const Sizes& sizes);

/// The alternatives of a root, or of a group's source.
struct TowerPrefix {
  std::string_view condition;
  std::string_view text;
};
std::vector<TowerPrefix> tower_prefixes(std::string_view text);
/// Returns the alternative of the prefix that a directory of this style (MLX or Hugging Face) uses.
std::string_view written_prefix(std::string_view text, bool is_mlx);

}  // namespace modelutils::arch
