// Reads the tokenizer files of a Hugging Face or MLX directory into the struct from which a GGUF's keys are written.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "formats/hf/config.h"
#include "formats/hf/config_members.h"
#include "io/model_folder.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

struct TokenizerOptions {
  u64 embedding_rows = 0;              ///< number of tokens to create: rows of the actual embedding tensor
  const hf::Config* config = nullptr;  ///< if null, read from the directory if present
  const hf::GenerationConfig* generation = nullptr;  ///< if null, read from the directory if present
  std::string pre;        ///< --pre: overrides recognition; must be a name that llama.cpp knows, else a usage error
  std::string pre_force;  ///< --pre-force: any text
};

/// Reads the tokenizer of a folder.
///
/// Errors, all of kind input except the usage error for an unknown `pre`: "hf-tok-missing" (no tokenizer; the message
/// names --no-vocab); "hf-tok-unigram", "hf-tok-wordpiece", "hf-tok-wordlevel", "hf-tok-kind" (kinds that GGUF's models
/// cannot represent); "hf-tok-pre-unknown" (the message has the flattened pre-tokenizer and the nearest known one);
/// "hf-tok-rows"; and those of broken files: "json-syntax", "hf-tok-json", "hf-tok-vocab", "hf-tok-merge",
/// "hf-tok-sentencepiece", "hf-tok-charsmap", "hf-tok-tiktoken", "hf-tok-tekken", "hf-tok-rwkv", "hf-tok-plamo",
/// "hf-tok-special-id", "hf-tok-template", … (docs/findings.md).
Result<Tokenizer> read_tokenizer(const ModelFolder& folder, const TokenizerOptions& options);

/// Checks that a directory's tokenizer files exist and can be read, without building the token list. For `verify`;
/// scope model. A missing tokenizer is a warning. A broken file is an error, as are ids in the vocabulary that are not
/// below `embedding_rows` (if given). Kinds that mlx2gguf cannot convert are a note.
FindingLog check_tokenizer(const ModelFolder& folder, std::optional<u64> embedding_rows = std::nullopt);

}  // namespace modelutils::tokenizer
