// Prints tokens of a vocabulary, tokens of a text, or the text of tokens: --tokens, --tokenize and --detokenize.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/text_output.h"
#include "report/style.h"
#include "tokenizer/encode/encoder.h"

namespace modelutils {

/// Exactly one of `list`, `text` and `ids` is set.
struct TokenRequest {
  /// Tokens to list: "special", "all", a number, "text:TEXT", or a glob over texts. Printed in id order, each once.
  std::vector<std::string> list;
  std::optional<std::string> text;      ///< text to tokenize
  std::optional<std::vector<u32>> ids;  ///< ids to detokenize
  tokenizer::EncodeOptions encode;
  bool csv = false;  ///< only with `list`
};

struct TokenForm {
  bool json = false;  ///< "vocabulary/1" for a list, otherwise "tokens/1"; one line per model
  bool for_terminal = false;
  bool first = true;      ///< nothing was printed before
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  Style style{false};
  std::string path = {};  ///< the model's path if several models are shown; otherwise empty
};

/// Prints the requested tokens. Errors: "key-no-token" (an id or a text that is not in the vocabulary), kind no_match
/// ("special" or a glob selects nothing), those of making and running an encoder.
Status write_tokens(TextOutput& out, tokenizer::EncodeKeys keys, const TokenRequest& request, const TokenForm& form);

}  // namespace modelutils
