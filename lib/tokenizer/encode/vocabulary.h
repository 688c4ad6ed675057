// A vocabulary as llama.cpp holds it after loading the tokenizer keys of a GGUF, with its defaults and the properties
// that it derives from token texts, regardless of their types. Source: llama.cpp's loader.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/name_index.h"
#include "formats/gguf/split_set.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

// The tokenizer keys of a GGUF that are needed for encoding.

/// The keys' values as in the file; empty if absent.
struct EncodeKeys {
  std::string model;         ///< tokenizer.ggml.model
  std::string pre;           ///< tokenizer.ggml.pre
  std::string architecture;  ///< general.architecture
  std::string name;          ///< general.name
  std::vector<std::string> tokens;
  std::vector<float> scores;  ///< empty, or one per token
  std::vector<i32> types;     ///< empty, or one TokenType number per token
  std::vector<std::string> merges;
  bool has_merges = false;
  std::string charsmap;  ///< checked by check_charsmap()
  SpecialIds special;    ///< may be out of range
  std::optional<bool> add_bos, add_eos;
  std::optional<bool> add_space_prefix, remove_extra_whitespaces, lowercase, strip_accents;
};

/// Reads the keys. Errors: "tok-missing" (no tokenizer.ggml.model, or no tokens); "tok-keys" (arrays of wrong types or
/// lengths); "tok-charsmap"; read errors.
Result<EncodeKeys> read_encode_keys(const gguf::SplitSet& set);

/// Returns the keys of a tokenizer that has not been written yet.
EncodeKeys encode_keys(Tokenizer tokenizer, std::string architecture, std::string name);

enum class EncodeKind : u8 { sentencepiece, bpe, wordpiece, unigram, rwkv, plamo2 };

/// Token properties. They are bits, because llama.cpp adds some to those in the file.
enum TokenTrait : u8 {
  trait_unknown = 1,
  trait_unused = 2,
  trait_normal = 4,
  trait_control = 8,
  trait_user_defined = 16,
  trait_byte = 32,
  trait_strips_left = 64,    ///< strips the spaces before it
  trait_strips_right = 128,  ///< strips the spaces after it
};

struct EncodeVocabulary {
  EncodeKind kind = EncodeKind::bpe;
  std::string model, pre;
  std::vector<std::string> texts;   ///< not empty, distinct
  std::vector<float> scores;        ///< one per token
  std::vector<u8> stated_traits;    ///< as in the file
  std::vector<u8> traits;           ///< llama.cpp's final values
  std::vector<std::string> merges;  ///< bpe
  NameIndex ids;                    ///< index of `texts`
  std::size_t longest = 0;          ///< length of the longest text in bytes
  std::optional<u32> bos, eos, unk, sep;
  bool add_bos = false, add_eos = false;
  bool add_space_prefix = false, remove_extra_whitespaces = false, ignore_merges = false;
  bool escapes_spaces = true;  ///< spaces are written as U+2581
  bool encodes_bytes = false;  ///< bpe: texts use the alphabet of byte_symbol()
  bool tidies_spaces = false;  ///< removes spaces before punctuation when decoding
  bool lowercase = true, strip_accents = true;
  std::string charsmap;

  bool has(u32 id, u8 of) const { return (traits[id] & of) != 0; }
};

/// Fills in the vocabulary from the keys. Errors: "tok-model" (tokenizer.ggml.model is not supported by llama.cpp, or
/// means no tokenizer); "tok-missing" (no merges); "tok-text" (two tokens have the same text, which is a failed
/// assertion in llama.cpp). The vocabulary must not be moved, because `ids` points into it.
Status load_vocabulary(EncodeKeys keys, EncodeVocabulary& out);

// Token properties that llama.cpp derives from the texts of tokens, regardless of their types.

/// Makes ends of turns and similar tokens control tokens, and a few others user-defined or normal, regardless of the
/// file. `stated` has the ids from the file's keys.
void set_traits_by_text(EncodeVocabulary& vocabulary, const SpecialIds& stated);

/// Marks the tokens that strip adjacent spaces, based on the names of the model, its architecture and its
/// pre-tokenizer.
void set_strips(EncodeVocabulary& vocabulary, const EncodeKeys& keys);

}  // namespace modelutils::tokenizer
