// What the two builders of a Tokenizer (byte-level BPE, SentencePiece-like) have in common. Internal to lib/hf.
#pragma once

#include "tokenizer/added_tokens.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/vocabulary.h"

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
  std::string_view architecture() const { return config ? std::string_view(config->architecture) : ""; }
  std::string_view model_type() const { return config ? std::string_view(config->model_type) : ""; }
};

/// Fills in kind, tokens, types, merges, pre from tokenizer.json or from vocab.json and merges.txt.
Status build_byte_bpe(const TokenizerInput& input, Tokenizer& tokenizer);

/// Fills in kind, tokens, types, scores, pre, add_space_prefix. `model` is the parsed tokenizer.model, if that is where
/// the pieces come from (it may be looked at and then left aside: it is reset if it contradicts tokenizer.json).
Status build_spm(const TokenizerInput& input, std::optional<SentencePieceModel>& model, Tokenizer& tokenizer);

/// Resolves special ids and the add_* flags of a tokenizer whose token list is complete.
Status resolve_special_tokens(const TokenizerInput& input, const SentencePieceModel* model, Tokenizer& tokenizer);

/// All of it but the chat templates.
Result<Tokenizer> build_tokenizer(const TokenizerFiles& files, const TokenizerOptions& options);

}  // namespace modelutils::tokenizer
