// The tokenizer files of a Hugging Face or MLX directory -> one plain struct that says what a GGUF file must say.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/finding_log.h"
#include "hf/config.h"
#include "hf/generation_config.h"
#include "io/model_folder.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

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

}  // namespace modelutils::tokenizer
