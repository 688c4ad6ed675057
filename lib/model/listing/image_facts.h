// Facts about an image or video model for listings, from the names and shapes of its tensors: the variant, the stacks
// of blocks, widths, types by role, and the files that it needs beside it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/image_models.h"
#include "base/types.h"

namespace modelutils {

/// A tensor of the listed model.
struct ImageEntry {
  std::string_view name;    ///< as in the file
  std::span<const u64> ne;  ///< of the published model, ne0 first
  std::string_view type;    ///< "Q4_K"
  u64 bytes = 0;            ///< without padding; 0 if unknown
};

/// The tensors of one type that play one role.
struct RoleType {
  std::string type;
  u64 tensors = 0;
  u64 bytes = 0;
};
struct ImageRole {
  std::string_view name;        ///< "attention"
  std::vector<RoleType> types;  ///< the largest first
};

/// Tensors of an all-in-one file that belong to something else.
struct ImageRest {
  std::string part;  ///< beginning of their names: "vae."
  u64 tensors = 0;
};

struct ImageStack {
  std::string name;  ///< "double_blocks"
  u64 blocks = 0;    ///< 1 + the highest number
};

struct ImageFacts {
  std::string_view architecture;  ///< "flux"
  std::string_view title;         ///< "Flux"
  std::vector<std::string_view> variants;
  std::vector<ImageStack> stacks;
  std::optional<u64> width, inputs, text_width;  ///< see arch::ImageSizes
  std::vector<ImageRole> roles;
  std::string_view text_encoders;  ///< that the model goes with: "CLIP-L, T5-XXL"
  std::string_view vae;            ///< likewise; "none" for a model of pixels
  std::vector<ImageRest> rest;
};

/// `layout` must have a model. `words` are texts that may name a variant which has the tensors of another:
/// general.name, a file's name.
ImageFacts image_facts(const arch::ImageLayout& layout, std::span<const ImageEntry> tensors,
                       std::span<const std::string> words);

}  // namespace modelutils
