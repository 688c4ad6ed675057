// Recipes: files with one setting per line. "type=MIX" sets the mix, "PATTERN=TYPE" the type of matching tensors; the
// first match counts. Empty lines and lines that begin with # are ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "quantize/mix.h"

namespace modelutils::requantize {

struct Recipe {
  const quantize::Mix* mix = nullptr;  ///< nullptr: the recipe names none
  std::vector<quantize::TypeOverride> overrides;
};

/// "PATTERN=TYPE". Error (usage): `flag` and what is wrong.
Result<quantize::TypeOverride> parse_override(std::string_view flag, std::string_view text);

/// The name of a mix in any case. Error (usage): the names there are.
Result<const quantize::Mix*> parse_mix(std::string_view flag, std::string_view text);

/// Reads a recipe. Errors: opening; "quantize-recipe" with the line.
Result<Recipe> read_recipe(const std::string& path);

}  // namespace modelutils::requantize
