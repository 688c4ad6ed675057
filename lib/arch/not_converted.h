// Models that are not converted although both mlx-lm and llama.cpp have a class for them.
#pragma once

#include <span>
#include <string_view>

namespace modelutils::arch {

struct NotConverted {
  std::string_view model_type;  ///< in config.json
  std::string_view because;     ///< the reason, as the end of a sentence
};

/// Returns all of them. Source: a comparison of mlx-lm's classes and llama.cpp's graphs.
std::span<const NotConverted> not_converted();

}  // namespace modelutils::arch
