// README.md of a directory made from a GGUF: what its general.* keys say, as the front matter that parse_model_card()
// and Hugging Face read.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "gguf/split_set.h"

namespace modelutils::hf {

struct ModelCardOptions {
  std::string_view library;  ///< "mlx" or "transformers": who reads the directory
  std::string_view source;   ///< file name of the GGUF, for the text
  std::string_view made_by;  ///< name and version of the program
};

/// The whole file. Values are YAML scalars in double quotes, whatever they hold; what is not UTF-8 is left out. Base
/// models and datasets are "organisation/name" where a key says it or an address on huggingface.co tells. Errors: those
/// of reading arrays.
Result<std::string> model_card_text(const gguf::SplitSet& set, const ModelCardOptions& options);

/// `text` as a YAML scalar in double quotes, on one line: control characters, line ends and invisible ones escaped.
/// `text` must be UTF-8.
std::string yaml_string(std::string_view text);

}  // namespace modelutils::hf
