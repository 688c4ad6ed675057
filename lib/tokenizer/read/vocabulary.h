// The base vocabulary (text -> id) and the token list that grows out of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "base/name_index.h"
#include "tokenizer/read/added_tokens.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

struct VocabEntry {
  std::string_view text;
  u32 id;
};

/// model.vocab as it stands. Texts and ids are distinct; ids are below the number of rows.
struct Vocabulary {
  std::vector<VocabEntry> entries;
  NameIndex index;  ///< text -> position in `entries`

  std::optional<u32> find(std::string_view text) const {
    const auto position = index.find(text);
    return position ? std::optional(entries[*position].id) : std::nullopt;
  }
};

/// Reads an object {text: id}. Errors: "hf-tok-vocab" (no object; a value is no id; a text or an id occurs twice),
/// "hf-tok-id-range" (an id is not below `rows`). Ids in `dropped` (increasing) are passed over instead.
Result<Vocabulary> read_vocabulary(json::Element vocab, u64 rows, const std::vector<u32>& dropped);

/// One merge: both parts, not empty.
struct Merge {
  std::string_view left, right;
};

/// One entry of model.merges: "left right" (exactly one space, inside) or [left, right].
std::optional<Merge> parse_merge(json::Element entry);

/// merges.txt of GPT-2-like tokenizers. One merge for each line, "left right" between blanks; a first line that begins
/// with '#' and empty lines are passed over. The views point into `text`. Error "hf-tok-merge" with the line's number.
Result<std::vector<Merge>> parse_merges_text(std::string_view text);

/// A merge as ids of the vocabulary.
struct MergeIds {
  u32 left, right, result;
};

/// `merge` (at position `rank`) looked up. Error "hf-tok-merge": left, right or left + right is not in the vocabulary.
/// `joined` is scratch space.
Result<MergeIds> find_merge(const Merge& merge, u64 rank, const Vocabulary& vocabulary, std::string& joined);

/// Calls `visit(merge, ids)` for each entry of model.merges in order. Errors "hf-tok-merge": as find_merge(), an entry
/// that parse_merge() does not take, no array.
Status visit_merges(json::Element merges, const Vocabulary& vocabulary,
                    const std::function<void(const Merge&, const MergeIds&)>& visit);

/// The score of a token that is never chosen.
inline constexpr float padding_score = -10000.0F;

/// tokens, types and scores of a Tokenizer while they are filled in.
class TokenList {
 public:
  /// Each of `rows` ids is without text at first.
  TokenList(Tokenizer& tokenizer, u64 rows);

  u64 size() const { return tokenizer_.tokens.size(); }
  void set(u32 id, std::string_view text, TokenType type, float score);
  /// Lays the added tokens over the list (score −1000).
  void overlay(const std::vector<AddedToken>& added);
  /// Gives ids without text "[PAD{id}]", empty texts "[EMPTY_{id}]" and renames all but one of several equal texts to
  /// "[DUP{id}]" (UNUSED): kept is the control token, else the user-defined one, else the first. The last two with a
  /// warning.
  void finish(FindingLog& findings);

 private:
  Tokenizer& tokenizer_;
};

}  // namespace modelutils::tokenizer
