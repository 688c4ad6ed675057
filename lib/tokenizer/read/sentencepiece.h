// Parses tokenizer.model, SentencePiece's protobuf, without a protobuf library.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::tokenizer {

/// One piece; its id is its position.
struct SentencePiece {
  std::string_view text;  ///< UTF-8; points into the parsed bytes
  float score = 0;
  i32 type = 1;  ///< numbered as TokenType: 1 NORMAL, 2 UNKNOWN, 3 CONTROL, 4 USER_DEFINED, 5 UNUSED, 6 BYTE
};

/// The relevant fields of ModelProto. Absent fields have the format's defaults.
struct SentencePieceModel {
  std::vector<SentencePiece> pieces;
  i32 model_type = 1;  ///< 1 UNIGRAM, 2 BPE, 3 WORD, 4 CHAR
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  std::string_view charsmap;                            ///< the precompiled character map; points into the parsed bytes
  i32 unk_id = 0, bos_id = 1, eos_id = 2, pad_id = -1;  ///< negative: undefined
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;

  /// True if it chooses the most likely split (UNIGRAM) instead of merging (BPE).
  bool is_unigram() const { return model_type == 1; }
};

/// Parses a SentencePiece model. Unknown fields are skipped by wire type, fields may be in any order, and repeated
/// submessages are merged as protobuf requires. Error: "hf-tok-sentencepiece" with the byte offset (not a SentencePiece
/// file, truncated, groups, a piece that is not UTF-8, a score that is not finite, an unknown type, no pieces or more
/// than 2^22, a model type WORD or CHAR, which GGUF cannot represent).
Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes);

}  // namespace modelutils::tokenizer
