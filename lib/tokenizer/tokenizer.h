// A tokenizer in the form of GGUF keys: special tokens by short names, scores, spellings of single bytes, and
// SentencePiece's character map. read/ builds one from a directory's files, write/ writes files from a GGUF's keys,
// encode/ splits texts into tokens. Facts: docs/tokenizers.md.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/split_set.h"

namespace modelutils::tokenizer {

/// tokenizer.ggml.model. "gpt2" is byte-level BPE, "llama" is SentencePiece-like; "rwkv" takes the longest token at
/// each position; "plamo2" and "t5" (Unigram) take the most likely split; "bert" (WordPiece) splits words from their
/// start.
enum class TokenizerKind : u8 { gpt2, llama, rwkv, plamo2, t5, bert };

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
  std::string charsmap;           ///< kind t5: SentencePiece's precompiled character map (check_charsmap()), or empty
  std::optional<bool> lowercase;  ///< set for kind bert
  std::optional<bool> strip_accents;  ///< kind bert; empty: as `lowercase`
  ChatTemplates templates;
  FindingLog findings;  ///< warnings and notes with codes "hf-tok-…", never errors

  /// True if the vocabulary has the four tokens that llama.cpp requires if general.name contains "phi-3" or "phi3" in
  /// any case. Without them it throws.
  bool allows_phi3_name() const;
};

/// True if this general.name makes llama.cpp treat the vocabulary as Phi-3's, ignoring case. It then fails to load
/// without the tokens "</s>", "<unk>", "<s>" and "<|endoftext|>", and strips spaces after special tokens.
bool promises_phi3_tokens(std::string_view name);

// Detects vocabularies whose scores are all equal. Scores decide how SentencePiece-like vocabularies split a text; with
// equal scores the split is undetermined.

/// Collects the scores of a vocabulary's NORMAL tokens.
class ScoreSpread {
 public:
  void add(float score) {
    if (!first_) first_ = score;
    are_equal_ = are_equal_ && score == *first_;
    ++count_;
  }

  /// Returns the common score of two or more tokens; nullopt if scores differ.
  std::optional<float> common() const { return count_ > 1 && are_equal_ ? first_ : std::nullopt; }

 private:
  u64 count_ = 0;
  bool are_equal_ = true;
  std::optional<float> first_;
};

/// `types` has one TokenType number per score.
inline std::optional<float> common_score(std::span<const i32> types, std::span<const float> scores) {
  ScoreSpread spread;
  for (std::size_t id = 0; id < scores.size() && id < types.size(); ++id) {
    if (types[id] == static_cast<i32>(TokenType::normal)) spread.add(scores[id]);
  }
  return spread.common();
}

// The special tokens of a GGUF, by short names.

struct TokenRole {
  std::string_view name;  ///< "eos"
  std::string_view key;   ///< "tokenizer.ggml.eos_token_id"
  std::optional<u32> SpecialIds::*id;
};

/// In the order in which they are written. Source: llama.cpp's key names ("seperator" is its spelling).
std::span<const TokenRole> token_roles();
/// Returns the role with this short name; nullptr for other names.
const TokenRole* find_token_role(std::string_view name);

// Reads GGUF arrays that have one number per token.

/// Returns the first `tokens` numbers of a key's array; empty if the key is absent. Errors: "tok-keys" (shorter, or not
/// numbers); read errors.
template <typename T>
Result<std::vector<T>> token_numbers(const gguf::SetFile& file, const gguf::Index& index, std::string_view key,
                                     u64 tokens) {
  const gguf::ArrayRef* array = index.array_value(key);
  if (array == nullptr) return std::vector<T>();
  if (gguf::value_size(array->element_type) == 0 || array->count < tokens) {
    return input_error("tok-keys", fmt::format("does not have a number for each of the {}", counted(tokens, "token")),
                       at_key(key), {}, file.path);
  }
  return gguf::read_numbers<T>(*file.source, file.document, *array, 0, tokens);
}

// The two spellings of single bytes in vocabularies.

/// U+2581, which stands for a space in SentencePiece.
inline constexpr std::string_view space_mark = "\u2581";

/// Returns the byte of a fallback token "<0x00>" … "<0xFF>" (two hexadecimal digits in either case); nullopt for other
/// texts.
std::optional<u8> byte_token_value(std::string_view text);
/// Returns "<0xHH>" in upper case.
std::string byte_token(u8 byte);

/// Returns a byte's symbol in byte-level BPE's alphabet, as UTF-8. Bytes 33-126, 161-172 and 174-255 map to the code
/// point with the same number; the other 68 map in increasing order to U+0100, U+0101, … (thus a space is U+0120).
std::string byte_symbol(u8 byte);

// SentencePiece's precompiled character map, which a normalizer uses for replacements: a double array and a list of
// texts.

/// For a finding: texts for which Hugging Face's tokenizers use the map differently.
inline constexpr std::string_view charsmap_differences =
    "texts with combining marks or with CR LF line ends may be tokenised differently: Hugging Face's tokenizers map "
    "whole grapheme clusters, llama.cpp and SentencePiece the longest sequence in the map";

/// Checks that no text can lead a reader outside a character map. Layout: the size of the double array in bytes (4
/// bytes, little-endian), the array (units of 4 bytes), and texts that end with a zero byte. A unit with the highest
/// bit set gives the start of a text. The successor of any other unit has the index: its own index XOR its offset XOR a
/// byte. Error: "hf-tok-charsmap".
Status check_charsmap(std::string_view bytes);

/// Reads and checks the map in a GGUF array. llama.cpp refuses a truncated map, and fails on texts that lead outside
/// it. Errors: "tok-charsmap" (damaged, not an array of bytes, more than 64 MiB); read errors.
Result<std::string> read_charsmap(const ByteSource& source, const gguf::ArrayRef& array);

}  // namespace modelutils::tokenizer
