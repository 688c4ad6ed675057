// tokenizer.model: SentencePiece's protobuf, read directly.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::tokenizer {

/// One piece; its id is its position.
struct SentencePiece {
  std::string_view text;  ///< UTF-8; points into the bytes that were parsed
  float score = 0;
  i32 type = 1;  ///< 1 NORMAL, 2 UNKNOWN, 3 CONTROL, 4 USER_DEFINED, 5 UNUSED, 6 BYTE: the numbers of TokenType
};

/// ModelProto as far as it matters. Members hold the format's own defaults where the file says nothing.
struct SentencePieceModel {
  std::vector<SentencePiece> pieces;
  i32 model_type = 1;  ///< 1 UNIGRAM, 2 BPE, 3 WORD, 4 CHAR
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  std::string_view charsmap;  ///< the precompiled map of characters; points into the bytes that were parsed
  i32 unk_id = 0, bos_id = 1, eos_id = 2, pad_id = -1;  ///< negative: there is none
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;

  /// Does it choose the most likely split (UNIGRAM), where BPE merges?
  bool is_unigram() const { return model_type == 1; }
};

/// Reads a SentencePiece model. Unknown fields are passed over by their wire type, the order of fields does not matter,
/// submessages that occur twice are merged as protobuf says. Error "hf-tok-sentencepiece" with the byte offset: not a
/// SentencePiece file, cut off, groups, a piece that is not UTF-8, a score that is
/// no finite number, a type that does not exist, no pieces or more than 2^22, a model type
/// WORD or CHAR (which no model for GGUF has).
Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes);

}  // namespace modelutils::tokenizer
