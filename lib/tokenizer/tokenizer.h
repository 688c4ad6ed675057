// A tokenizer as the keys of a GGUF say it. read/ makes one of a directory's files, write/ makes files of a GGUF's
// keys, encode/ cuts texts into tokens with it. Facts: docs/tokenizers.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding_log.h"
#include "base/types.h"

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

/// One template beside the default one.
struct NamedTemplate {
  std::string name;  ///< as GGUF keys spell it: every character outside [A-Za-z0-9] is '_'
  std::string text;  ///< verbatim
};

/// What becomes tokenizer.chat_template, tokenizer.chat_template.NAME and the list tokenizer.chat_templates.
struct ChatTemplates {
  std::optional<std::string> main;
  std::vector<NamedTemplate> named;  ///< distinct names
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

/// Does a general.name make llama.cpp treat the vocabulary as Phi-3's? It then fails to load without the tokens "</s>",
/// "<unk>", "<s>" and "<|endoftext|>", and strips spaces after special tokens. Case does not matter.
bool promises_phi3_tokens(std::string_view name);

}  // namespace modelutils::tokenizer
