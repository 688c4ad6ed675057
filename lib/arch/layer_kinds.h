// Models whose layers are of several kinds: what config.json says about each.
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

/// The whole numbers of a list, one for each layer. Empty if the field is not such a list.
std::vector<u64> counts_of_layers(const hf::Config& config, std::string_view field);

/// The numbers of a list, 0 for whatever else stands in it. Empty if the field is no list.
std::vector<double> numbers_of_layers(const hf::Config& config, std::string_view field);

/// The kind of each layer from the first field of "a|b" that is there: the words of a list (["mamba", "attention"]), or
/// the letters of a text ("M-M*"). Empty if there is none.
std::vector<std::string> kinds_of_layers(const hf::Config& config, std::string_view fields);

/// One number for each layer: `value` in those of one of `wanted` kinds, 0 in the others.
std::vector<u64> in_layers(const std::vector<std::string>& kinds, std::initializer_list<std::string_view> wanted,
                           u64 value);

}  // namespace modelutils::arch
