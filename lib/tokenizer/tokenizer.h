// A tokenizer in the form of GGUF keys. read/ builds one from a directory's files, write/ writes files from a GGUF's
// keys, encode/ splits texts into tokens. Facts: docs/tokenizers.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding_log.h"
#include "base/types.h"

namespace modelutils::tokenizer {

/// tokenizer.ggml.model. "gpt2" is byte-level BPE, "llama" is SentencePiece-like; "rwkv" takes the longest token at
/// each position; "plamo2" and "t5" (Unigram) take the most likely split.
enum class TokenizerKind : u8 { gpt2, llama, rwkv, plamo2, t5 };

/// "gpt2", "llama" …
std::string_view tokenizer_kind_name(TokenizerKind kind);
/// True if tokens of this kind have scores.
bool has_scores(TokenizerKind kind);

/// The numbers of tokenizer.ggml.token_type. Types that SentencePiece has as well have the same numbers there.
enum class TokenType : i32 {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

/// Ids of special tokens. All are less than the number of tokens.
struct SpecialIds {
  std::optional<u32> bos, eos, unk, sep, pad, cls, mask;
  std::optional<u32> eot, eom;
  std::optional<u32> fim_pre, fim_suf, fim_mid, fim_pad, fim_rep, fim_sep;
};

/// A template other than the default one.
struct NamedTemplate {
  std::string name;  ///< as in GGUF keys: every character outside [A-Za-z0-9] is '_'
  std::string text;  ///< verbatim
};

/// The values of tokenizer.chat_template, tokenizer.chat_template.NAME and the list tokenizer.chat_templates.
struct ChatTemplates {
  std::optional<std::string> main;
  std::vector<NamedTemplate> named;  ///< distinct names
};

/// All that a GGUF stores about a tokenizer. tokens, types and scores (for kinds with scores) have one entry per row of
/// the embedding. Token texts are distinct and not empty.
struct Tokenizer {
  TokenizerKind kind = TokenizerKind::gpt2;
  std::string source;               ///< the file that it was read from, e.g. "tokenizer.json"
  std::vector<std::string> tokens;  ///< UTF-8 in the tokenizer's own alphabet; special tokens are raw text
  std::vector<i32> types;           ///< TokenType numbers
  std::vector<float> scores;        ///< if has_scores(kind)
  std::vector<std::string> merges;  ///< kind gpt2 only, "left right", best first
  std::string pre;                  ///< tokenizer.ggml.pre; empty: none
  SpecialIds special;
  std::optional<bool> add_bos, add_eos, add_sep;
  std::optional<bool> add_space_prefix;          ///< set for kinds with scores
  std::optional<bool> remove_extra_whitespaces;  ///< set for kind t5
  std::string charsmap;  ///< kind t5: SentencePiece's precompiled character map (check_charsmap()), or empty
  ChatTemplates templates;
  FindingLog findings;  ///< warnings and notes with codes "hf-tok-…", never errors

  /// True if the vocabulary has the four tokens that llama.cpp requires if general.name contains "phi-3" or "phi3" in
  /// any case. Without them it throws.
  bool allows_phi3_name() const;
};

/// True if this general.name makes llama.cpp treat the vocabulary as Phi-3's, ignoring case. It then fails to load
/// without the tokens "</s>", "<unk>", "<s>" and "<|endoftext|>", and strips spaces after special tokens.
bool promises_phi3_tokens(std::string_view name);

}  // namespace modelutils::tokenizer
