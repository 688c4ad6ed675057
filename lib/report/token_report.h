// Tokens: those of a vocabulary, those of a text, and the text of some: --tokens, --tokenize and --detokenize.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/text_output.h"
#include "report/style.h"
#include "tokenizer/encode/encoder.h"

namespace modelutils {

/// One of `list`, `text` and `ids`.
struct TokenRequest {
  /// What to list: "special", "all", a number, "text:TEXT", or a glob over texts. In the order of the ids, each once.
  std::vector<std::string> list;
  std::optional<std::string> text;      ///< to cut into tokens
  std::optional<std::vector<u32>> ids;  ///< to make a text of
  tokenizer::EncodeOptions encode;
  bool csv = false;  ///< with `list`
};

struct TokenForm {
  bool json = false;  ///< "vocabulary/1" of a list, else "tokens/1"; one line for each model
  bool for_terminal = false;
  bool first = true;      ///< nothing was printed before
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  Style style{false};
  std::string path = {};  ///< the model's, to be told where several are shown; else empty
};

/// Errors: "key-no-token" (an id or a text that the vocabulary does not have; a usage error where `special`, a glob
/// … selects nothing: glob-no-match), those of making and running an encoder.
Status write_tokens(TextOutput& out, tokenizer::EncodeKeys keys, const TokenRequest& request, const TokenForm& form);

}  // namespace modelutils
