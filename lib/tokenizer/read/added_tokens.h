// Added tokens: those that tokenizer.json, tokenizer_config.json and added_tokens.json lay over the vocabulary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "tokenizer/read/files.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

struct AddedToken {
  u32 id = 0;
  std::string content;
  bool special = false;
  bool normalized = true;    ///< looked for in the normalised text, not in the text as it is typed
  bool lstrip = false;       ///< takes the spaces before it
  bool rstrip = false;       ///< takes the spaces after it
  bool single_word = false;  ///< not found inside a word
};

struct AddedTokens {
  std::vector<AddedToken> tokens;  ///< distinct ids, increasing
  std::vector<u32> dropped;        ///< ids that the embedding has no row for, increasing
};

/// Does a token look like a special one whatever the file says: <pad>, <mask>, <2mass>, [@BOS@], <|…|>, <｜…｜>,
/// <unused…>?
bool looks_special(std::string_view text);

/// CONTROL if it is special or looks so, else USER_DEFINED.
TokenType added_token_type(const AddedToken& token);
/// Is it a token that no ordinary text holds, because it has U+2581 where texts have a space, and is looked for before
/// the normalizer puts that sign there? Hugging Face's tokenizers only ever make such a token by merging.
bool stands_for_unnormalised_spaces(const AddedToken& token);
/// The text as GGUF wants it: raw; U+2581 becomes a space in a USER_DEFINED one.
std::string added_token_text(const AddedToken& token);

/// All added tokens with ids below `rows`. added_tokens.json gives way to tokenizer_config.json's added_tokens_decoder,
/// that to tokenizer.json's added_tokens; contradictions and dropped ids are warnings. Errors: "hf-tok-added" (an entry
/// that is no {id, content}).
Result<AddedTokens> collect_added_tokens(const TokenizerFiles& files, u64 rows, FindingLog& findings);

}  // namespace modelutils::tokenizer
