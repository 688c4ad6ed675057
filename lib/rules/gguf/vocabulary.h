// Scans the tokens and merges of a GGUF file: half a million strings in a few milliseconds.
#pragma once

#include <string>
#include <vector>

#include "gguf/document.h"
#include "rules/gguf/role_texts.h"

namespace modelutils {

/// The number of strings with some problem, and the first of them.
struct StringTally {
  u64 number = 0;
  u64 first_index = 0;
  u64 first_offset = 0;  ///< absolute offset of the string's length field

  void count(u64 index, u64 offset) {
    if (number++ != 0) return;
    first_index = index;
    first_offset = offset;
  }
  /// Adds the tally of strings that come later.
  void add(const StringTally& later) {
    if (number == 0) {
      *this = later;
    } else {
      number += later.number;
    }
  }
};

struct DuplicateToken {
  u32 index;        ///< of the later token
  u32 first_index;  ///< of the earlier token with the same text
  u64 offset;       ///< of the later token's length field
};

struct VocabularyScan {
  static constexpr std::size_t kept_duplicates = 100;

  StringTally tokens_not_utf8;
  StringTally tokens_empty;    ///< not duplicates, because loaders give each its own text
  bool is_cut_at_nul = false;  ///< a text contains NUL, so duplicates compare texts up to their first NUL
  u64 duplicate_count = 0;
  std::vector<DuplicateToken> duplicates;  ///< the first kept_duplicates of them
  StringTally merges_not_utf8;
  StringTally merges_not_split;      ///< without a space between two parts
  StringTally merges_without_token;  ///< a half, or both joined, is not a token
  std::string first_missing;         ///< the token missing for the first of these
  StringTally not_merged;            ///< ordinary tokens of several characters that no merge makes
  StringTally two_digits;            ///< ordinary tokens with two or more consecutive ASCII digits
  StringTally four_digits;           ///< … with four or more
};

/// Hashes every token, and looks up both halves and the joined text of every merge. `tokens` (fewer than 2^32 - 1) and
/// `merges`, which may be null, are arrays of strings. `ordinary` is 1 for tokens of type NORMAL; only they count in
/// the last three tallies. `roles` receives the texts it waits for. Takes 24 to 48 bytes per token, plus one per token
/// and thread. The result does not depend on `threads`. Errors: those of reading.
Result<VocabularyScan> scan_vocabulary(const ByteSource& source, const gguf::Document& document,
                                       const gguf::ArrayRef& tokens, const gguf::ArrayRef* merges,
                                       const std::vector<u8>& ordinary = {},
                                       gguf_rules::RoleTextsOnTheWay* roles = nullptr, unsigned threads = 1);

/// Returns about the first 80 bytes (whole characters) of the string whose length field is at `offset`, for messages.
/// Empty if it cannot be read.
std::string string_at(const ByteSource& source, const gguf::Document& document, u64 offset);

}  // namespace modelutils
