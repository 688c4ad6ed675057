// The builders of a Tokenizer, one for each form of its files, and what they have in common. Internal to
// this folder.
#pragma once

#include "arch/tokenizer_facts.h"
#include "tokenizer/read/added_tokens.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/read_tokenizer.h"
#include "tokenizer/read/sentencepiece.h"
#include "tokenizer/read/vocabulary.h"

namespace modelutils::tokenizer {

/// Sixty times the largest vocabulary there is; the tokens of so many rows still fit into memory.
constexpr u64 max_embedding_rows = u64{1} << 24;

/// The inputs, loaded.
struct TokenizerInput {
  const TokenizerFiles& files;
  const TokenizerOptions& options;
  const hf::Config* config = nullptr;  ///< may be absent
  AddedTokens added;

  u64 rows() const { return options.embedding_rows; }
  std::string_view model_type() const { return config ? std::string_view(config->model_type) : ""; }
  /// What the model's family decides.
  const arch::TokenizerFacts& family() const {
    return arch::tokenizer_facts(config ? std::string_view(config->architecture) : "", model_type());
  }
};

/// Fills in kind, tokens, types, merges, pre from tokenizer.json or from vocab.json and merges.txt.
Status build_byte_bpe(const TokenizerInput& input, Tokenizer& tokenizer);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix. `model` is the parsed tokenizer.model, if that is where
/// the pieces come from (it may be looked at and then left aside: it is reset if it contradicts tokenizer.json).
Status build_spm(const TokenizerInput& input, std::optional<SentencePieceModel>& model, Tokenizer& tokenizer);

/// Tokens, types and scores of the pieces of a tokenizer.model; those beyond the list are dropped with a warning. A
/// user-defined piece becomes NORMAL: added tokens give it its final type.
void fill_from_pieces(const SentencePieceModel& model, TokenList& list, FindingLog& findings);
/// The added tokens to lay over the list. Those for runs of spaces, such as Yi-1.5's "▁▁", stay the ordinary tokens
/// that they are in the vocabulary: as USER_DEFINED ones llama.cpp would cut texts at every run of spaces, which the
/// original does not.
std::vector<AddedToken> tokens_to_overlay(const TokenizerInput& input, const Vocabulary& vocabulary,
                                          FindingLog& findings);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix, remove_extra_whitespaces, charsmap and the unknown
/// token, from a tokenizer.json of type Unigram or, if `model` is given, from that. Errors "hf-tok-unigram" (a
/// normalizer or pre-tokenizer that llama.cpp's cannot follow, or no unknown token), "hf-tok-charsmap", "hf-tok-vocab",
/// "hf-tok-id-range".
Status build_unigram(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer);

/// Fills in kind, tokens and types from RWKV's world vocabulary: lines "ID LITERAL LENGTH", ids from 1 on; 0 is the end
/// of a text. Texts are escaped as llama.cpp undoes it. Errors "hf-tok-rwkv", "hf-tok-id-range".
Status build_rwkv(const TokenizerInput& input, Tokenizer& tokenizer);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix from PLaMo's tokenizer.jsonl: [text, score, type, …] a
/// line. Errors "json-syntax", "hf-tok-plamo", "hf-tok-id-range".
Status build_plamo(const TokenizerInput& input, Tokenizer& tokenizer);

/// Warns if all NORMAL tokens have this same score.
void warn_of_common_score(std::optional<float> score, std::string_view file, FindingLog& findings);

/// Warns of the tokens "<0x00>" to "<0xFF>" that are missing.
void check_byte_tokens(const Tokenizer& tokenizer, FindingLog& findings);

/// Resolves special ids and the add_* flags of a tokenizer whose token list is complete.
Status resolve_special_tokens(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer);

/// All of it but the chat templates.
Result<Tokenizer> build_tokenizer(const TokenizerFiles& files, const TokenizerOptions& options);

}  // namespace modelutils::tokenizer
