// Models that mlx-lm and llama.cpp both have a class for, and that are not converted all the same.
#pragma once

#include <span>
#include <string_view>

namespace modelutils::arch {

struct NotConverted {
  std::string_view model_type;  ///< of config.json
  std::string_view because;     ///< the end of a sentence
};

/// All of them. Source: mlx-lm's classes and llama.cpp's graphs, compared.
std::span<const NotConverted> not_converted();

}  // namespace modelutils::arch
