// Recipes: files with one setting per line. "type=MIX" sets the mix, "PATTERN=TYPE" the type of matching tensors; the
// first match applies. Empty lines and lines that begin with # are ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "quantize/mix.h"

namespace modelutils::requantize {

struct Recipe {
  const quantize::Mix* mix = nullptr;  ///< nullptr if the recipe names none
  std::vector<quantize::TypeOverride> overrides;
};

/// Parses "PATTERN=TYPE". Error (usage): names `flag` and the problem.
Result<quantize::TypeOverride> parse_override(std::string_view flag, std::string_view text);

/// Parses the name of a mix, ignoring case. Error (usage): lists the known names.
Result<const quantize::Mix*> parse_mix(std::string_view flag, std::string_view text);

/// Reads a recipe. Errors: those of opening; "quantize-recipe" with the line.
Result<Recipe> read_recipe(const std::string& path);

}  // namespace modelutils::requantize
