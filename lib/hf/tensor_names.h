// Parses tensor names of Hugging Face and MLX directories, as far as this is independent of the architecture.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::hf {

/// Removes every "language_model." and "text_model.", which multimodal wrappers insert in several places.
std::string canonical_name(std::string_view name);

/// The treatment of a tensor, determined by its canonical name.
enum class NameClass : u8 {
  keep,
  other_modality,  ///< vision, audio, projector: belongs in another file
  prediction,      ///< layers for multi-token prediction
  derived,         ///< rotary inv_freq, causal masks: never converted
};
/// Classifies a canonical name (canonical_name()).
NameClass classify_name(std::string_view canonical);

/// The suffix in "P.weight", "P.scales", "P.biases", "P.bias". Matches exactly.
enum class Suffix : u8 { none, weight, bias, scales, biases };
struct SplitName {
  std::string_view module;  ///< "model.layers.0.mlp.up_proj"; the whole name if it has no such suffix
  Suffix suffix = Suffix::none;
};
/// Splits off the suffix.
SplitName split_name(std::string_view name);

}  // namespace modelutils::hf
