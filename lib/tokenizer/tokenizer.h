// The tokenizer files of a Hugging Face or MLX directory -> one plain struct that says what a GGUF file must say.
//
// Facts: which tokenizer a directory holds, token types, scores rebuilt from merges, special ids and the table of
// pre-tokenizers are described in docs/tokenizers.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "hf/config.h"
#include "hf/generation_config.h"
#include "io/model_folder.h"
#include "json/reader.h"
#include "tokenizer/chat_template.h"

namespace modelutils::tokenizer {

/// tokenizer.ggml.model: byte-level BPE is "gpt2", SentencePiece-like is "llama"; "rwkv" takes the longest token at
/// each place, "plamo2" and "t5" (Unigram) the most likely split.
enum class TokenizerKind : u8 { gpt2, llama, rwkv, plamo2, t5 };

/// "gpt2", "llama" …
std::string_view tokenizer_kind_name(TokenizerKind kind);
/// Do tokens of this kind have scores?
bool has_scores(TokenizerKind kind);

/// The numbers of tokenizer.ggml.token_type (the same as SentencePiece's, where both have the type).
enum class TokenType : i32 {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

/// Ids of tokens with a meaning. All are below the number of tokens.
struct SpecialIds {
  std::optional<u32> bos, eos, unk, sep, pad, cls, mask;
  std::optional<u32> eot, eom;
  std::optional<u32> fim_pre, fim_suf, fim_mid, fim_pad, fim_rep, fim_sep;
};

/// Everything GGUF wants to know of a tokenizer. tokens, types and scores (of kinds that have some) have one entry for
/// each row of the embedding; token texts are distinct and not empty.
struct Tokenizer {
  TokenizerKind kind = TokenizerKind::gpt2;
  std::string source;               ///< the file it was read from, e.g. "tokenizer.json"
  std::vector<std::string> tokens;  ///< UTF-8, in the tokenizer's own alphabet (special ones raw)
  std::vector<i32> types;           ///< TokenType numbers
  std::vector<float> scores;        ///< where has_scores(kind)
  std::vector<std::string> merges;  ///< kind gpt2 only, "left right", best first
  std::string pre;                  ///< tokenizer.ggml.pre; empty: none
  SpecialIds special;
  std::optional<bool> add_bos, add_eos, add_sep;
  std::optional<bool> add_space_prefix;          ///< set for kinds with scores
  std::optional<bool> remove_extra_whitespaces;  ///< set for kind t5
  std::string charsmap;  ///< kind t5: SentencePiece's precompiled map of characters (check_charsmap()), or empty
  ChatTemplates templates;
  FindingLog findings;  ///< warnings and notes, codes "hf-tok-…"; never an error

  /// Does the vocabulary hold the four tokens that llama.cpp looks up, and throws without, if general.name contains
  /// "phi-3" or "phi3" in any case?
  bool allows_phi3_name() const;
};

struct TokenizerOptions {
  u64 embedding_rows = 0;              ///< number of tokens to make: rows of the embedding tensor that is really there
  const hf::Config* config = nullptr;  ///< read from the directory, if it is there, where not given
  const hf::GenerationConfig* generation = nullptr;  ///< likewise
  std::string pre;        ///< --pre: overrides recognition; must be a name that llama.cpp knows (else a usage error)
  std::string pre_force;  ///< --pre-force: any text
};

/// Reads the tokenizer of a folder.
///
/// Errors, all of kind input but the usage error for an unknown `pre`: "hf-tok-missing" (no tokenizer at all; the text
/// names --no-vocab), "hf-tok-unigram", "hf-tok-wordpiece", "hf-tok-wordlevel", "hf-tok-kind" (kinds
/// that GGUF's models cannot carry), "hf-tok-pre-unknown" (the flattened pre-tokenizer and the nearest known one
/// are printed), "hf-tok-rows", and those of broken files: "json-syntax", "hf-tok-json", "hf-tok-vocab",
/// "hf-tok-merge", "hf-tok-sentencepiece", "hf-tok-charsmap", "hf-tok-tiktoken", "hf-tok-tekken", "hf-tok-rwkv",
/// "hf-tok-plamo", "hf-tok-special-id", "hf-tok-template", … (docs/findings.md).
Result<Tokenizer> read_tokenizer(const ModelFolder& folder, const TokenizerOptions& options);

/// Looks whether the tokenizer files of a directory are there and can be read, without building the token list. For
/// `verify`: scope model; a missing tokenizer is a warning, a broken file an error, so are ids not below
/// `embedding_rows` (if given) in the vocabulary. Kinds that mlx2gguf cannot convert are a note.
FindingLog check_tokenizer(const ModelFolder& folder, std::optional<u64> embedding_rows = std::nullopt);

/// Does a general.name make llama.cpp treat the vocabulary as Phi-3's? It then fails to load without the tokens "</s>",
/// "<unk>", "<s>" and "<|endoftext|>", and strips spaces after special tokens. Case does not matter.
bool promises_phi3_tokens(std::string_view name);

/// Is `name` a value of tokenizer.ggml.pre that llama.cpp knows (what --pre accepts)?
bool is_known_pre(std::string_view name);

}  // namespace modelutils::tokenizer
