// Scans the tokens and merges of a GGUF file: half a million strings in a few milliseconds, with a hash table of their
// texts. Some texts show that a token starts or ends a text or a turn.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_index.h"
#include "base/types.h"
#include "formats/gguf/document.h"

namespace modelutils {

// A hash table of a vocabulary's texts: 128,000 insertions and 840,000 look-ups take a few milliseconds.

/// A text hash with a random seed.
class TextHash {
 public:
  TextHash();
  u64 operator()(std::string_view text) const;

 private:
  u64 seed_ = 0;
};

/// An open-addressing table of seeded 64-bit hashes; it does not store the texts. A slot has a 32-bit fingerprint and
/// the text's number, so a look-up reads one cache line. 128,000 tokens take 2 MiB of slots.
///
/// insert() compares full hashes: among n different texts the chance of any false match is about n² / 2^65 (5e-10 for
/// 128,000). find() matches an absent text with a chance of about 2^-31. A file cannot provoke either, since TextHash's
/// seed is random.
///
/// To overlap memory latencies, hash a batch of texts and prefetch() each first, and look them up afterwards.
class TokenTable {
 public:
  /// Makes room for texts numbered 0 to `tokens` - 1. Takes 24 to 40 bytes per text.
  explicit TokenTable(u64 tokens);

  void prefetch(u64 hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

  /// Adds a text. If it is present already, changes nothing and returns the number it was added under.
  std::optional<u32> insert(u64 hash, u32 number) {
    const u32 wanted = fingerprint(hash);
    std::size_t slot = hash & mask_;
    for (; slots_[slot].fingerprint != 0; slot = (slot + 1) & mask_) {
      if (slots_[slot].fingerprint == wanted && hashes_[slots_[slot].number] == hash) return slots_[slot].number;
    }
    slots_[slot] = {wanted, number};
    hashes_[number] = hash;
    return std::nullopt;
  }
  /// Returns the number that the text was added under, or nullopt if absent.
  std::optional<u32> find(u64 hash) const {
    const u32 wanted = fingerprint(hash);
    std::size_t slot = hash & mask_;
    while (slots_[slot].fingerprint != 0 && slots_[slot].fingerprint != wanted) slot = (slot + 1) & mask_;
    if (slots_[slot].fingerprint == 0) return std::nullopt;
    return slots_[slot].number;
  }
  bool contains(u64 hash) const { return find(hash).has_value(); }

 private:
  struct Slot {
    u32 fingerprint;  // 0 if the slot is free
    u32 number;
  };
  static u32 fingerprint(u64 hash) { return static_cast<u32>(hash >> 32) | 1u; }

  std::size_t mask_;
  ZeroedArray<Slot> slots_;
  ZeroedArray<u64> hashes_;  // indexed by number
};

}  // namespace modelutils

namespace modelutils::gguf_rules {

// The texts of the tokens that start or end a text or a turn.

/// The texts of bos, eos, eot and eom; empty if there is no such token.
using RoleTexts = std::array<std::string, 4>;

/// Collects those texts while other code reads the vocabulary from the start.
class RoleTextsOnTheWay {
 public:
  /// `tokens` is the vocabulary size. If any id is out of range, all texts stay empty.
  RoleTextsOnTheWay(const gguf::Index& index, u64 tokens);

  /// Returns the next id to collect, or nullopt after the last.
  std::optional<u64> next() const { return next_; }
  /// Stores the text of the token next(), and moves on.
  void take(std::string_view text);
  const RoleTexts& texts() const { return texts_; }

 private:
  void find_next(std::optional<u64> after);

  std::array<std::optional<u64>, 4> ids_;
  std::optional<u64> next_;
  RoleTexts texts_;
};

/// Reads the vocabulary up to the last of the four tokens. All texts are empty if it cannot be read.
RoleTexts read_role_texts(const ByteSource& source, const gguf::Document& document, const gguf::Index& index);

}  // namespace modelutils::gguf_rules

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
