// Reads from config.json what kind each layer is, for models with several kinds.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::hf {
struct Config;
}

namespace modelutils::arch {

/// Returns the integers of a list with one per layer. Empty if the field is not such a list.
std::vector<u64> counts_of_layers(const hf::Config& config, std::string_view field);

/// Returns the numbers of a list, with 0 for elements of other types. Empty if the field is not a list.
std::vector<double> numbers_of_layers(const hf::Config& config, std::string_view field);

/// Returns the kind of each layer from the first of the fields "a|b" that is present: the words of a list (["mamba",
/// "attention"]) or the letters of a string ("M-M*"). Empty if there is none.
std::vector<std::string> kinds_of_layers(const hf::Config& config, std::string_view fields);

/// Returns one number per layer: `value` in layers of one of the `wanted` kinds, 0 in the others.
std::vector<u64> in_layers(const std::vector<std::string>& kinds, std::initializer_list<std::string_view> wanted,
                           u64 value);

}  // namespace modelutils::arch
