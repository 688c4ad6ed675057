// The builders of a Tokenizer, one per form of its files, and their common parts. Internal to this folder.
#pragma once

#include "arch/tokenizer_facts.h"
#include "tokenizer/read/added_tokens.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/read_tokenizer.h"
#include "tokenizer/read/sentencepiece.h"
#include "tokenizer/read/vocabulary.h"

namespace modelutils::tokenizer {

/// Sixty times the largest known vocabulary; the tokens of that many rows still fit into memory.
constexpr u64 max_embedding_rows = u64{1} << 24;

/// The loaded inputs.
struct TokenizerInput {
  const TokenizerFiles& files;
  const TokenizerOptions& options;
  const hf::Config* config = nullptr;  ///< nullptr if absent
  AddedTokens added;

  u64 rows() const { return options.embedding_rows; }
  std::string_view model_type() const { return config ? std::string_view(config->model_type) : ""; }
  /// Settings determined by the model's family.
  const arch::TokenizerFacts& family() const {
    return arch::tokenizer_facts(config ? std::string_view(config->architecture) : "", model_type());
  }
};

/// Fills in kind, tokens, types, merges, pre from tokenizer.json or from vocab.json and merges.txt.
Status build_byte_bpe(const TokenizerInput& input, Tokenizer& tokenizer);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix. `model` is the parsed tokenizer.model if the pieces
/// come from it. It is reset if it contradicts tokenizer.json.
Status build_spm(const TokenizerInput& input, std::optional<SentencePieceModel>& model, Tokenizer& tokenizer);

/// Fills tokens, types and scores from the pieces of a tokenizer.model; pieces beyond the list are dropped with a
/// warning. A user-defined piece becomes NORMAL, because added tokens set its final type.
void fill_from_pieces(const SentencePieceModel& model, TokenList& list, FindingLog& findings);
/// Returns the added tokens to overlay on the list. Tokens for runs of spaces, such as Yi-1.5's "▁▁", stay ordinary
/// tokens of the vocabulary: if they were USER_DEFINED, llama.cpp would split texts at every run of spaces, which the
/// original does not.
std::vector<AddedToken> tokens_to_overlay(const TokenizerInput& input, const Vocabulary& vocabulary,
                                          FindingLog& findings);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix, remove_extra_whitespaces, charsmap and the unknown
/// token from `model` if given, else from a tokenizer.json of type Unigram. Errors: "hf-tok-unigram" (a normalizer or
/// pre-tokenizer that llama.cpp cannot reproduce, or no unknown token), "hf-tok-charsmap", "hf-tok-vocab",
/// "hf-tok-id-range".
Status build_unigram(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer);

/// Fills in kind, tokens and types from RWKV's world vocabulary: lines "ID LITERAL LENGTH" with ids from 1; id 0 is the
/// end of text. Texts are escaped for llama.cpp. Errors: "hf-tok-rwkv", "hf-tok-id-range".
Status build_rwkv(const TokenizerInput& input, Tokenizer& tokenizer);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix from PLaMo's tokenizer.jsonl, which has [text, score,
/// type, …] per line. Errors: "json-syntax", "hf-tok-plamo", "hf-tok-id-range".
Status build_plamo(const TokenizerInput& input, Tokenizer& tokenizer);

/// Warns if `score`, the common score of all NORMAL tokens, is set.
void warn_of_common_score(std::optional<float> score, std::string_view file, FindingLog& findings);

/// Warns if any of the tokens "<0x00>" to "<0xFF>" are missing.
void check_byte_tokens(const Tokenizer& tokenizer, FindingLog& findings);

/// Resolves special ids and the add_* flags of a tokenizer whose token list is complete.
Status resolve_special_tokens(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer);

/// Builds everything except the chat templates.
Result<Tokenizer> build_tokenizer(const TokenizerFiles& files, const TokenizerOptions& options);

}  // namespace modelutils::tokenizer
