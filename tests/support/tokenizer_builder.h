// Writes valid or deliberately invalid tokenizer.json and SentencePiece files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"

namespace modelutils::test {

/// A tokenizer.json, member by member. Texts are written as JSON strings, members called *_json verbatim.
struct TokenizerJson {
  struct Added {
    i64 id;
    std::string content;
    bool special = true;
    bool normalized = false;
  };
  std::string type = "BPE";  ///< empty: omit the member
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

  /// Byte-level BPE with GPT-2's pre-tokenizer and the 256 byte symbols (ids 0 to 255). Add words, each of them a
  /// symbol or the concatenation of two known texts in `merges`.
  static TokenizerJson byte_level();
  /// Like SentencePiece: <unk>, <s>, </s> and the 256 byte tokens (ids 0 to 258), then the given characters.
  static TokenizerJson sentencepiece_like(std::string_view characters);
  /// Adds a text with the next free id.
  TokenizerJson& word(std::string_view text);
  /// Adds a merge and its result.
  TokenizerJson& merge(std::string_view left, std::string_view right);
};

/// Returns `{"type":"Split","pattern":{"Regex":…},"behavior":…,"invert":…}`.
std::string split_json(std::string_view regex, std::string_view behaviour = "Isolated", bool invert = false);
/// Returns `{"type":"ByteLevel",…}`.
std::string byte_level_json(bool use_regex, bool add_prefix_space = false);
/// Returns a Sequence of pre-tokenizers.
std::string sequence_json(const std::vector<std::string>& members, std::string_view key = "pretokenizers");
/// Returns a quoted JSON string.
std::string json_quoted(std::string_view text);

/// Writes a protobuf message, field by field.
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

/// Returns a SentencePiece message.
std::string piece_message(std::string_view text, float score, i32 type = 1);
/// A piece of a tokenizer.model.
struct SpmPiece {
  std::string text;
  float score = 0;
  i32 type = 1;
};
/// Returns a whole tokenizer.model: the pieces in order, BPE with byte fallback by default, and the usual special ids.
std::string sentencepiece_file(const std::vector<SpmPiece>& pieces, i32 model_type = 2, bool add_dummy_prefix = true);

/// Returns four bytes of a precompiled character map.
std::string charsmap_unit(u32 value);
/// Returns a character map of one block of units without children, with `changed` as unit 65, and the text "x".
std::string charsmap(u32 changed = 0);

}  // namespace modelutils::test
