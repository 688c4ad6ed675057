// Writes tokenizer.json and SentencePiece files, right ones and wrong ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"

namespace modelutils::test {

/// A tokenizer.json member by member. Texts are written as JSON strings, the members called *_json as they stand.
struct TokenizerJson {
  struct Added {
    i64 id;
    std::string content;
    bool special = true;
    bool normalized = false;
  };
  std::string type = "BPE";  ///< empty: the member is left out
  std::vector<std::pair<std::string, i64>> vocab;
  std::vector<std::pair<std::string, std::string>> merges;
  bool merges_as_pairs = false;  ///< [left, right] instead of "left right"
  std::vector<Added> added;
  std::optional<std::string> unk_token;
  bool byte_fallback = false;
  bool ignore_merges = false;
  std::string normalizer_json = "null";
  std::string pre_tokenizer_json = "null";
  std::string post_processor_json = "null";
  std::string decoder_json = "null";

  std::string text() const;

  /// Byte-level BPE with the 256 byte symbols (ids 0 to 255), then `words` (each of which must be a symbol or the
  /// concatenation of two known texts given in `merges`), and GPT-2's pre-tokenizer.
  static TokenizerJson byte_level();
  /// SentencePiece-like: <unk>, <s>, </s>, the 256 byte tokens (ids 0 to 258), then single characters.
  static TokenizerJson sentencepiece_like(std::string_view characters);
  /// Appends a text with the next free id.
  TokenizerJson& word(std::string_view text);
  /// Appends a merge and its result.
  TokenizerJson& merge(std::string_view left, std::string_view right);
};

/// `{"type":"Split","pattern":{"Regex":…},"behavior":…,"invert":…}`
std::string split_json(std::string_view regex, std::string_view behaviour = "Isolated", bool invert = false);
/// `{"type":"ByteLevel",…}`
std::string byte_level_json(bool use_regex, bool add_prefix_space = false);
/// A Sequence of pre-tokenizers.
std::string sequence_json(const std::vector<std::string>& members, std::string_view key = "pretokenizers");
/// A quoted JSON string.
std::string quoted(std::string_view text);

/// A protobuf message, field by field.
class ProtoBuilder {
 public:
  ProtoBuilder& varint(u32 field, u64 value);
  ProtoBuilder& bytes(u32 field, std::string_view value);
  ProtoBuilder& fixed32(u32 field, u32 value);
  ProtoBuilder& fixed64(u32 field, u64 value);
  ProtoBuilder& number(u32 field, float value);
  ProtoBuilder& raw(std::string_view bytes) { return out_.append(bytes), *this; }
  const std::string& text() const { return out_; }

 private:
  void put_varint(u64 value);
  std::string out_;
};

/// A SentencePiece message.
std::string piece_message(std::string_view text, float score, i32 type = 1);
/// A whole tokenizer.model: pieces in order, BPE with byte fallback, the usual ids.
struct SpmPiece {
  std::string text;
  float score = 0;
  i32 type = 1;
};
std::string sentencepiece_file(const std::vector<SpmPiece>& pieces, i32 model_type = 2, bool add_dummy_prefix = true);

/// Four bytes of a precompiled map of characters.
std::string charsmap_unit(u32 value);
/// A map of one block of units, all without children, with `changed` in place of unit 65, and the text "x".
std::string charsmap(u32 changed = 0);

}  // namespace modelutils::test
