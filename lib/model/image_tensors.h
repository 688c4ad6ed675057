// The tensors of an image or video model's GGUF under the names and shapes of the published model: without a prefix,
// and unfolded where a key states the original shape (comfy.gguf.orig_shape.NAME).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/image_models.h"
#include "formats/gguf/split_set.h"

namespace modelutils {

/// The original shape that a key states.
struct StatedShape {
  std::vector<u64> ne = {};  ///< ne0 first; empty if the key cannot be used
  std::string problem = {};  ///< what is wrong with the key, for messages; empty if nothing is
};

/// Reads the shape that the key `entry` of `file` states for a tensor of `ne`. A readable key is an array of INT32 with
/// 1 to 5 positive numbers, as many elements as the tensor has.
StatedShape stated_image_shape(const gguf::SetFile& file, const gguf::KeyValue& entry, std::span<const u64> ne);

struct ImageTensor {
  std::string_view name;  ///< without the prefix; view into the set
  std::vector<u64> ne;    ///< ne0 first
};

/// Returns an entry for each tensor of the set, by file and in the order of the headers; nullopt for tensors of other
/// parts of an all-in-one file. A tensor without a usable key has its stored shape.
std::vector<std::optional<ImageTensor>> image_tensors(const gguf::SplitSet& set, const arch::ImageLayout& layout);

}  // namespace modelutils
