// A vocabulary as llama.cpp holds it after loading a file, with its defaults and the properties derived from token
// texts. Source: llama.cpp's loader.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_index.h"
#include "tokenizer/encode/keys.h"

namespace modelutils::tokenizer {

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

}  // namespace modelutils::tokenizer
