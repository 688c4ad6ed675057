// Names of tensors in Hugging Face and MLX directories, as far as no architecture is needed to read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::hf {

/// Without every occurrence of "language_model." and "text_model.", which wrappers of multimodal models add in several
/// places.
std::string canonical_name(std::string_view name);

/// What to do with a tensor because of its (canonical) name alone.
enum class NameClass : u8 {
  keep,
  other_modality,  ///< vision, audio, projector: belongs to another file
  prediction,      ///< layers that predict further tokens
  derived,         ///< rotary inv_freq, causal masks: never carried
};
NameClass classify_name(std::string_view canonical);

/// The parts of "P.weight", "P.scales", "P.biases", "P.bias", matched exactly.
enum class Suffix : u8 { none, weight, bias, scales, biases };
struct SplitName {
  std::string_view module;  ///< "model.layers.0.mlp.up_proj"; the whole name if there is no such suffix
  Suffix suffix = Suffix::none;
};
SplitName split_name(std::string_view name);

}  // namespace modelutils::hf
