// The tokens and the merges of a GGUF file: half a million strings in a few milliseconds.
#pragma once

#include <string>
#include <vector>

#include "gguf/document.h"
#include "rules/gguf/role_texts.h"

namespace modelutils {

/// How many strings have some trouble, and which is the first.
struct StringTally {
  u64 number = 0;
  u64 first_index = 0;
  u64 first_offset = 0;  ///< absolute, of the string's length field

  void count(u64 index, u64 offset) {
    if (number++ != 0) return;
    first_index = index;
    first_offset = offset;
  }
  /// Those of strings that come later.
  void add(const StringTally& later) {
    if (number == 0) {
      *this = later;
    } else {
      number += later.number;
    }
  }
};

struct DuplicateToken {
  u32 index;        ///< of the later one
  u32 first_index;  ///< of the one that has the same text
  u64 offset;       ///< of the later one's length field
};

struct VocabularyScan {
  static constexpr std::size_t kept_duplicates = 100;

  StringTally tokens_not_utf8;
  StringTally tokens_empty;    ///< loaders give each its own text, so they are no duplicates
  bool is_cut_at_nul = false;  ///< some text contains NUL, and duplicates are those of texts up to it
  u64 duplicate_count = 0;
  std::vector<DuplicateToken> duplicates;  ///< the first kept_duplicates of them
  StringTally merges_not_utf8;
  StringTally merges_not_split;      ///< without a space between two parts
  StringTally merges_without_token;  ///< a half, or both joined, is not a token
  std::string first_missing;         ///< the token that the first of these needs
  StringTally not_merged;            ///< ordinary tokens of several characters that no merge makes
  StringTally two_digits;            ///< ordinary tokens with two or more ASCII digits in a row
  StringTally four_digits;           ///< … with four or more
};

/// Hashes every token and looks up both halves and the whole of every merge. `tokens` (fewer than 2^32 - 1) and
/// `merges`, which may be null, are arrays of strings. `ordinary`: 1 for the tokens that are of type NORMAL; the last
/// three tallies are of those only. `roles` gets the texts that it waits for. Memory: 24 to 48 bytes for each token,
/// and one more for each of the `threads`, which make no difference to the result. Errors: those of reading.
Result<VocabularyScan> scan_vocabulary(const ByteSource& source, const gguf::Document& document,
                                       const gguf::ArrayRef& tokens, const gguf::ArrayRef* merges,
                                       const std::vector<u8>& ordinary = {},
                                       gguf_rules::RoleTextsOnTheWay* roles = nullptr, unsigned threads = 1);

/// The string whose length field stands at `offset`, its first 80 bytes or so (whole characters), for messages. Empty
/// if it cannot be read.
std::string string_at(const ByteSource& source, const gguf::Document& document, u64 offset);

}  // namespace modelutils
