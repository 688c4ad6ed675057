// A vocabulary as llama.cpp holds it once it has read a file: with its defaults, and with what it thinks of tokens by
// their texts. Source: its loader.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_index.h"
#include "tokenizer/encode/keys.h"

namespace modelutils::tokenizer {

enum class EncodeKind : u8 { sentencepiece, bpe, wordpiece, unigram, rwkv, plamo2 };

/// What a token is; bits, since llama.cpp adds some to what the file says.
enum TokenTrait : u8 {
  trait_unknown = 1,
  trait_unused = 2,
  trait_normal = 4,
  trait_control = 8,
  trait_user_defined = 16,
  trait_byte = 32,
  trait_strips_left = 64,    ///< takes the spaces before it
  trait_strips_right = 128,  ///< takes the spaces behind it
};

struct EncodeVocabulary {
  EncodeKind kind = EncodeKind::bpe;
  std::string model, pre;
  std::vector<std::string> texts;   ///< none is empty, all are distinct
  std::vector<float> scores;        ///< one for each token
  std::vector<u8> stated_traits;    ///< as the file says
  std::vector<u8> traits;           ///< as llama.cpp has them in the end
  std::vector<std::string> merges;  ///< bpe
  NameIndex ids;                    ///< of `texts`
  std::size_t longest = 0;          ///< bytes of the longest text
  std::optional<u32> bos, eos, unk, sep;
  bool add_bos = false, add_eos = false;
  bool add_space_prefix = false, remove_extra_whitespaces = false, ignore_merges = false;
  bool escapes_spaces = true;  ///< a space is U+2581
  bool encodes_bytes = false;  ///< bpe: texts are in byte_symbol()'s alphabet
  bool tidies_spaces = false;  ///< takes spaces away before punctuation when tokens become text
  bool lowercase = true, strip_accents = true;
  std::string charsmap;

  bool has(u32 id, u8 of) const { return (traits[id] & of) != 0; }
};

/// Errors: "tok-model" (a tokenizer.ggml.model that llama.cpp does not run or that is none), "tok-missing" (no merges),
/// "tok-text" (two tokens have the same text, where llama.cpp ends with a failed assertion). The vocabulary must stay
/// where it is: `ids` looks into it.
Status load_vocabulary(EncodeKeys keys, EncodeVocabulary& out);

}  // namespace modelutils::tokenizer
