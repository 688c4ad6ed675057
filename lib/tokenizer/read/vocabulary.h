// The vocabulary of a directory: the tokens that tokenizer.json, tokenizer_config.json and added_tokens.json add to
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "tokenizer/read/files.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

struct AddedToken {
  u32 id = 0;
  std::string content;
  bool special = false;
  bool normalized = true;    ///< searched in the normalised text, not in the raw input
  bool lstrip = false;       ///< strips the spaces before it
  bool rstrip = false;       ///< strips the spaces after it
  bool single_word = false;  ///< not recognised inside a word
};

struct AddedTokens {
  std::vector<AddedToken> tokens;  ///< distinct ids, increasing
  std::vector<u32> dropped;        ///< ids without a row in the embedding, increasing
};

/// True if a token looks like a special one regardless of its declaration: <pad>, <mask>, <2mass>, [@BOS@], <|…|>,
/// <｜…｜>, <unused…>.
bool looks_special(std::string_view text);

/// Returns CONTROL if the token is special or looks special, else USER_DEFINED.
TokenType added_token_type(const AddedToken& token);
/// True if no ordinary text contains the token, because it contains U+2581, and tokens are searched before the
/// normalizer replaces spaces by U+2581. Hugging Face's tokenizers produce such a token only by merging.
bool stands_for_unnormalised_spaces(const AddedToken& token);
/// Returns the text as stored in a GGUF: raw, except that U+2581 becomes a space in USER_DEFINED tokens.
std::string added_token_text(const AddedToken& token);

/// Collects all added tokens with ids below `rows`. tokenizer.json's added_tokens take precedence over
/// tokenizer_config.json's added_tokens_decoder, and that over added_tokens.json. Contradictions and dropped ids are
/// warnings. Error: "hf-tok-added" (an entry that is not {id, content}).
Result<AddedTokens> collect_added_tokens(const TokenizerFiles& files, u64 rows, FindingLog& findings);

}  // namespace modelutils::tokenizer
