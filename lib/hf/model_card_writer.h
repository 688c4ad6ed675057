// Converts the general.* keys of a GGUF into a model card, and writes README.md for a directory made from it, with
// these keys as front matter for parse_model_card() and Hugging Face.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "gguf/split_set.h"
#include "hf/model_card.h"

namespace modelutils::hf {

struct ModelCardOptions {
  std::string_view library;  ///< the library that will load the directory: "mlx" or "transformers"
  std::string_view source;   ///< the GGUF's file name, for the text
  std::string_view made_by;  ///< the program's name and version
};

/// Returns the whole file. Values are double-quoted YAML scalars; invalid UTF-8 is skipped. Base models and datasets
/// are "organisation/name" if the keys or an address on huggingface.co give both. Errors: those of reading arrays.
Result<std::string> model_card_text(const gguf::SplitSet& set, const ModelCardOptions& options);

/// Returns `text`, which must be UTF-8, as a double-quoted YAML scalar on one line. Control characters, line ends and
/// invisible characters are escaped.
std::string yaml_string(std::string_view text);

/// Takes only non-empty UTF-8 strings. Base models and datasets are "organisation/name" if the keys or an address on
/// huggingface.co give both, otherwise a name or an address. The pipeline tag is taken from the tags. Errors: those of
/// reading arrays.
Result<ModelCard> card_from_keys(const gguf::SplitSet& set);

}  // namespace modelutils::hf
