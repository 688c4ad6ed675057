// Vocabularies with one token per line: tiktoken's, with bytes in base64 and ranks, and tekken.json of Mistral's own
// format, which has them after a block of special tokens.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "json/reader.h"

namespace modelutils::tokenizer {

// Vocabularies that are text files with one token per line.

/// Calls `visit(line)`, which returns a Status, for each line that is not empty, without its LF or CR LF. Stops at the
/// first error and returns it, with the line in `where` ("line 3", counted from 1).
template <typename Visit>
Status each_line(std::string_view text, const Visit& visit) {
  for (u64 number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    Status visited = visit(line);
    if (!visited) {
      Error error = std::move(visited.error());
      error.where = fmt::format("line {}", number);
      return tl::make_unexpected(std::move(error));
    }
  }
  return {};
}

// tiktoken's vocabularies: one line per token, with its bytes in base64 and its rank.

/// Texts in byte-level BPE's alphabet, and the merges implied by the ranks.
struct TiktokenVocabulary {
  std::vector<std::string> tokens;  ///< indexed by rank, which is the id; empty if the rank is missing
  std::vector<std::string> merges;  ///< "left right", best first
};

/// Collects tokens by rank.
class RankedTokens {
 public:
  explicit RankedTokens(u64 rows) : rows_(rows) {}

  /// Errors, without a location: "hf-tok-id-range" (the rank is not below the number of rows); "hf-tok-tiktoken" (a
  /// duplicate rank, a token without bytes or with more than 4096, or a total length larger than in any real
  /// vocabulary).
  Status add(u64 rank, std::string bytes);
  /// Derives the merge of each token with several bytes: joining its bytes by the ranks below its own leaves two parts,
  /// which tiktoken would join last. Error: "hf-tok-tiktoken" if the lower ranks do not leave two parts.
  Result<TiktokenVocabulary> finish() const;

 private:
  u64 rows_, total_square_ = 0;
  std::vector<std::string> bytes_;
};

/// Reads lines "base64 rank". Errors: those of RankedTokens; "hf-tok-tiktoken" for a line of another form.
Result<TiktokenVocabulary> parse_tiktoken(std::string_view text, u64 rows);

// tekken.json, the tokenizer file of Mistral's own format: a block of special tokens followed by tiktoken's ranks.

struct TekkenSpecial {
  std::string text;
  bool is_control = true;
};

/// Ids are positions in `special`, followed by the ranks of `ordinary`.
struct TekkenVocabulary {
  std::vector<TekkenSpecial> special;  ///< as many as the file states; unnamed ones are "<SPECIAL_7>", …
  TiktokenVocabulary ordinary;         ///< without missing ranks
  std::string_view pattern;            ///< the regex that splits texts
};

/// Reads config {pattern, default_vocab_size, default_num_special_tokens}, vocab [{rank, token_bytes}, …] up to the
/// vocabulary's size, and special_tokens [{rank, token_str, is_control}, …]. Versions up to v7 may omit the special
/// tokens; they all have the same twenty. Errors: "hf-tok-tekken" (a missing member or one of another type,
/// contradictory numbers, a duplicate rank or special text, a missing rank), "hf-tok-id-range" (`rows` is less than
/// default_vocab_size), "hf-tok-tiktoken" (a token without bytes, with too many, or that cannot be built from tokens of
/// lower rank).
Result<TekkenVocabulary> parse_tekken(json::Element root, u64 rows);

}  // namespace modelutils::tokenizer
