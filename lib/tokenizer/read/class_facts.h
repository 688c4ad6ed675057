// The defaults of the Python classes of tokenizers. They apply if there is no tokenizer.json, because the other files
// state neither the special tokens nor where they are added; for some classes they also apply with one.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/types.h"
#include "tokenizer/read/build.h"
#include "tokenizer/read/special_texts.h"

namespace modelutils::tokenizer {

struct ClassFacts {
  std::string_view names;  ///< values of tokenizer_class, without "Fast", separated by '|'
  /// The default texts, in the order of special_variables(); empty: no such token.
  std::array<std::string_view, 7> texts = {};
  std::string_view eot = {};                         ///< the token that ends a turn
  bool with_json = false;                            ///< the texts also count with a tokenizer.json
  std::optional<bool> adds_bos = {}, adds_eos = {};  ///< without tokenizer.json
  std::optional<bool> adds_sep = {};                 ///< between two texts, after the eos
  std::optional<bool> prefixes_space = {};           ///< whatever the SentencePiece model states
  /// The tokens before the pieces of a SentencePiece model, separated by spaces, and the first piece that follows them.
  /// If empty, ids are the positions of the pieces.
  std::string_view leading = {};
  u32 first_piece = 0;
  u64 extra_ids = 0;          ///< tokens <extra_id_0> …, the first of which has the highest id
  std::string_view pre = {};  ///< tokenizer.ggml.pre of byte-level BPE
};

/// Returns the facts of the class that the files name. If they name none, or one without behaviour of its own, the form
/// of the vocabulary decides: T5's SentencePiece model (`model`, if there is one) has no bos. Returns nullptr for other
/// classes, and if a tokenizer.json states all of this.
const ClassFacts* find_class_facts(const TokenizerInput& input, const SentencePieceModel* model = nullptr);

/// Returns the texts of special tokens in the files; where they state none, the class's default (`facts` may be
/// nullptr).
SpecialTexts special_texts_of(const TokenizerInput& input, const ClassFacts* facts);

}  // namespace modelutils::tokenizer
