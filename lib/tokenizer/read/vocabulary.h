// The base vocabulary (text -> id) and the token list built from it.
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

/// model.vocab as in the file. Texts and ids are distinct; ids are below the number of rows.
struct Vocabulary {
  std::vector<VocabEntry> entries;
  NameIndex index;  ///< text -> position in `entries`

  std::optional<u32> find(std::string_view text) const {
    const auto position = index.find(text);
    return position ? std::optional(entries[*position].id) : std::nullopt;
  }
};

/// Reads an object {text: id}. Ids in `dropped` (increasing) are skipped. Errors: "hf-tok-vocab" (not an object, a
/// value that is not an id, a duplicate text or id); "hf-tok-id-range" (an id that is not below `rows`).
Result<Vocabulary> read_vocabulary(json::Element vocab, u64 rows, const std::vector<u32>& dropped);

/// The two parts of a merge, not empty.
struct Merge {
  std::string_view left, right;
};

/// Parses one entry of model.merges: "left right" (exactly one space, inside) or [left, right]. Returns nullopt
/// otherwise.
std::optional<Merge> parse_merge(json::Element entry);

/// Parses merges.txt of GPT-2-like tokenizers: one merge per line, "left right" between blanks. Skips empty lines, and
/// a first line that begins with '#'. The views point into `text`. Error: "hf-tok-merge" with the line number.
Result<std::vector<Merge>> parse_merges_text(std::string_view text);

/// A merge as ids of the vocabulary.
struct MergeIds {
  u32 left, right, result;
};

/// Looks up `merge` (at position `rank`). `joined` is scratch space. Error: "hf-tok-merge" if left, right or left +
/// right is not in the vocabulary.
Result<MergeIds> find_merge(const Merge& merge, u64 rank, const Vocabulary& vocabulary, std::string& joined);

/// Calls `visit(merge, ids)` for each entry of model.merges in order. Error: "hf-tok-merge" as for find_merge(), for an
/// entry that parse_merge() rejects, or if `merges` is not an array.
Status visit_merges(json::Element merges, const Vocabulary& vocabulary,
                    const std::function<void(const Merge&, const MergeIds&)>& visit);

/// The score of a token that must never be chosen.
inline constexpr float padding_score = -10000.0F;

/// Fills in a Tokenizer's tokens, types and scores.
class TokenList {
 public:
  /// All `rows` ids are initially without text.
  TokenList(Tokenizer& tokenizer, u64 rows);

  u64 size() const { return tokenizer_.tokens.size(); }
  void set(u32 id, std::string_view text, TokenType type, float score);
  /// Overlays the added tokens on the list (with score −1000).
  void overlay(const std::vector<AddedToken>& added);
  /// Gives ids without text the text "[PAD{id}]" and empty texts "[EMPTY_{id}]". Of several equal texts keeps one and
  /// renames the others to "[DUP{id}]" (UNUSED); it keeps the control token, else the user-defined one, else the first.
  /// The last two cases are warnings.
  void finish(FindingLog& findings);

 private:
  Tokenizer& tokenizer_;
};

}  // namespace modelutils::tokenizer
