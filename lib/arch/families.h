// The list of families, how to find a model's family, and models that are not converted although both mlx-lm and
// llama.cpp have a class for them.
#pragma once

#include <span>
#include <string_view>

#include "arch/family.h"
#include "formats/gguf/document.h"

namespace modelutils::arch {

/// Returns all families, in the order of the page of architectures. Unpacks them, so prefer the functions below, which
/// unpack only the family that they find.
std::span<const Family* const> all_families();

/// Finds the family by architectures[0] and model_type of a config.json. An unknown class is another model even if it
/// has a known model_type ("…ForSequenceClassification"), unless it is the class of a multimodal wrapper. Returns
/// nullptr if there is none.
const Family* find_family(const hf::Config& config);

/// Like find_family() for a config, from names alone. The class takes precedence; among families that share one,
/// returns the first.
const Family* find_family(std::string_view hf_class, std::string_view model_type);

/// Finds the family by general.architecture and, if several share it, by the keys. Returns nullptr if there is none.
const Family* find_family(const gguf::Index& index);

/// Returns the first family with this GGUF architecture, or nullptr.
const Family* find_gguf_family(std::string_view architecture);
/// Returns the first family with this GGUF architecture, with experts if `experts` is set, or nullptr.
const Family* find_gguf_family(std::string_view architecture, bool experts);

/// True if a row of the family uses the named operation ("add_one").
bool uses_operation(const Family& family, std::string_view operation);

// Models that are not converted although both mlx-lm and llama.cpp have a class for them.

struct NotConverted {
  std::string_view model_type;  ///< in config.json
  std::string_view because;     ///< the reason, as the end of a sentence
};

/// Returns all of them. Source: a comparison of mlx-lm's classes and llama.cpp's graphs.
std::span<const NotConverted> not_converted();

}  // namespace modelutils::arch
