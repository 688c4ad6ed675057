// tiktoken's vocabularies: one line per token, with its bytes in base64 and its rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace modelutils::tokenizer {

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

}  // namespace modelutils::tokenizer
